// What stands beside a cube follows it and leads it, without the server: components tell each other by events of the
// document. "nv-element" {index, by}: an element is shown, by the "lock", the "pointer" or a moving "window".
// "nv-lock" {index}: it is to be locked. "nv-part" {part}: the elements of a statistic are to be lit, "mean" or
// "divides"; null: no more.

export const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

// The frame of a heat map of statistics, moved to that of an element: layout.meta.frame has the shapes of the statistics
// and of the tensor, whose first two axes run down, the others across.
export function moveFrame(graph, index) {
  const { shape, of } = graph.layout.meta.frame;
  const {
    xaxis,
    yaxis,
    shapes: [frame],
  } = graph._fullLayout;
  const at = index.map((i, axis) => Math.floor((i * shape[axis]) / of[axis]));
  const moved = [
    [xaxis, at[2] * shape[3] + at[3], frame.x0],
    [yaxis, at[0] * shape[1] + at[1], frame.y0],
  ].map(([axis, to, from]) => axis.l2p(to - 0.5) - axis.l2p(from));
  graph.querySelector(".shapelayer path")?.setAttribute("transform", `translate(${moved.join(" ")})`);
}

// Called with what is told from now on, for as long as the root is on the page.
export function hear(root, name, take) {
  const heard = ({ detail }) => (root.isConnected ? take(detail) : document.removeEventListener(name, heard));
  document.addEventListener(name, heard);
}
