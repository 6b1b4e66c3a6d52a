// The size of a figure: that of its container and that of its text. A figure is drawn again when either changes.

const PAUSE = 60; // ms without another change before the figure is drawn: a sidebar slides, a window is dragged

// Return the factor by which presentation mode enlarges all text.
const textScale = (root) => Number(getComputedStyle(root).getPropertyValue("--nv-enlarged")) || 1;

// Return [width, height, factor of the text], the first two in pixels; null while the container has no area, as in a
// closed expander. A cube drawn without an area would report a camera that nobody turned.
export function sizeOf(graph) {
  const { clientWidth: width, clientHeight: height } = graph;
  return graph.isConnected && width && height ? [width, height, textScale(graph)] : null;
}

// Call `changed` after each change of the container's size, once per burst of changes. The pause also keeps the height
// that `changed` may set out of the observer's own frame.
export function watchSize(graph, changed) {
  let timer;
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(changed, PAUSE);
  }).observe(graph);
}

// Multiply the size of all text and all margins of a figure.
export function enlarge(part, by) {
  if (by === 1 || !part || typeof part !== "object" || ArrayBuffer.isView(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (/font$/.test(name) && value?.size) value.size *= by;
    else if (name === "margin") for (const side of ["l", "r", "t", "b"]) value[side] *= by;
    else enlarge(value, by);
  }
}
