// What a pointer means to a cube: which cell is under it, and what is the page's rather than the cube's.

const CLICK = 4, TAP = 12;      // pixels that a press may wander

// The matrix product a b, and a point in homogeneous coordinates; matrices by columns, as WebGL has them.
const times = (a, b) => Array.from({ length: 16 }, (_, n) =>
  [0, 1, 2, 3].reduce((sum, k) => sum + a[4 * k + n % 4] * b[4 * (n >> 2) + k], 0));

// The number of the nearest face at a place of the window, -1 for none: of what is drawn now.
function faceAt(scene, { x, y, z }, clientX, clientY) {
  const { projection, view, model } = scene.glplot.cameraParams, [sx, sy, sz] = scene.dataScale;
  const m = times(projection, times(view, model)), box = scene.container.getBoundingClientRect();
  const across = (clientX - box.left) / box.width * 2 - 1, down = 1 - (clientY - box.top) / box.height * 2;
  const at = (n) => {
    const [px, py, pz] = [x[n] * sx, y[n] * sy, z[n] * sz];
    const [a, b, depth, w] = [0, 1, 2, 3].map((row) => m[row] * px + m[4 + row] * py + m[8 + row] * pz + m[12 + row]);
    return [a / w - across, b / w - down, depth / w];
  };
  let found = -1, nearest = Infinity;
  for (let face = 0; face < x.length / 4; face++) {
    const corners = [0, 1, 2, 3].map((n) => at(4 * face + n));
    const turns = corners.map(([a, b], n) => {
      const [c, d] = corners[(n + 1) % 4];
      return a * d - b * c;
    });
    const depth = corners.reduce((sum, corner) => sum + corner[2], 0);
    if (depth < nearest && (turns.every((turn) => turn > 0) || turns.every((turn) => turn < 0))) {
      [found, nearest] = [face, depth];
    }
  }
  return found;
}

// Whether the last pointer was a finger: what a browser says of a mouse then is made up, and where it was.
const fingers = new WeakMap();
const touched = (graph) => fingers.get(graph) ?? false;

// `pressed` is called with the place of a click or a tap in the window, `reset` to see the cube as at first. One finger
// scrolls the page and taps, two turn the cube; the wheel scrolls the page until the cube has the focus.
function listenToPointers(graph, { pressed, reset }) {
  let start = null;
  const near = (event, most) => start && Math.hypot(event.clientX - start[0], event.clientY - start[1]) < most;
  for (const type of ["pointerdown", "pointermove"]) {
    graph.addEventListener(type, (event) => fingers.set(graph, event.pointerType === "touch"), true);
  }
  graph.addEventListener("pointerdown", (event) => { start = [event.clientX, event.clientY]; }, true);
  graph.addEventListener("pointerup", (event) => {     // a click, not the end of a turn of the camera
    if (!event.isPrimary || !near(event, event.pointerType === "touch" ? TAP : CLICK)) return;
    pressed(event.clientX, event.clientY);
  }, true);
  graph.addEventListener("dblclick", reset);
  graph.addEventListener("wheel", (event) => {
    if (!graph.contains(document.activeElement)) event.stopPropagation();
  }, true);

  // Plotly would turn the cube with one finger, and keep the page from being scrolled.
  const turn = (type, { touches }, buttons) => {
    const [x, y] = ["clientX", "clientY"].map((d) => (touches[0][d] + touches[1][d]) / 2);
    const made = new MouseEvent(type, { clientX: x, clientY: y, buttons, bubbles: true });
    graph.querySelector("canvas").dispatchEvent(made);
  };
  let turning = false;
  for (const type of ["touchstart", "touchmove", "touchend", "touchcancel"]) {
    graph.addEventListener(type, (event) => {
      event.stopPropagation();
      if (event.touches.length !== 2) {
        turning = false;
        return;
      }
      event.preventDefault();
      if (!turning) turn("mousemove", event, 0);
      turn(turning ? "mousemove" : "mousedown", event, 1);
      turning = true;
    }, { capture: true, passive: false });
  }
}
