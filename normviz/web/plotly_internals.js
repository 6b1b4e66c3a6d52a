// Everything that this project needs of Plotly beyond its documented interface. No other module names a private member
// of Plotly: tests/ui/test_private_members.py checks that, tests/browser/test_plotly_internals.py calls each function
// on a live figure and names the version that they hold for.

const sceneOf = (graph) => graph._fullLayout.scene._scene;

// Return where the camera is now: {eye, center, up, projection}.
export const getCamera = (graph) => sceneOf(graph).getCamera();

// Return the lengths of the scene's sides now, {x, y, z}. Scrolling an orthographic scene scales them.
export const getSides = (graph) => ({ ...sceneOf(graph).glplot.getAspectratio() });

// Return how the scene is projected now. `container`: the element that it fills; `overlay`: the SVG element that Plotly
// keeps over it; `matrices`: {projection, view, model}, by columns; `scale`: by which the data are multiplied first.
export function readProjection(graph) {
  const { container, svgContainer: overlay, glplot, dataScale: scale } = sceneOf(graph);
  const { projection, view, model } = glplot.cameraParams;
  return { container, overlay, matrices: { projection, view, model }, scale };
}

// Call `draw` after each frame of the scene, for as long as the graph has this scene. Further calls change nothing.
export function callAfterFrames(graph, draw) {
  const scene = sceneOf(graph);
  if (Object.hasOwn(scene, "render")) return;
  scene.render = () => {
    Object.getPrototypeOf(scene).render.call(scene);
    draw();
  };
}

// Keep Plotly from looking up what is under the pointer: it would draw another picture, of numbers, and the scene once
// more where that changes. `faceAt` of pointing.js finds it without.
export function disablePicking(graph) {
  const { glplot } = sceneOf(graph);
  const last = glplot.objects.at(-1);
  if (glplot.objects.every((object) => object.pickSlots === 0)) return;
  for (const object of glplot.objects) object.pickSlots = 0;
  glplot.remove(last);
  glplot.add(last); // it only counts them then
  glplot.mouseListener.enabled = false;
}

// Give traces of the scene other properties, by the name of the trace, and draw. Plotly.restyle would send every trace
// to the graphics card.
export function updateTraces(graph, changes) {
  const scene = sceneOf(graph);
  for (const full of graph._fullData) {
    const change = changes[full.name];
    if (!change) continue;
    Object.assign(full, change);
    Object.assign(graph.data[full.index], change);
    scene.traces[full.uid].update(full);
  }
  disablePicking(graph); // a trace may have got its first lines
  scene.glplot.redraw();
}

// Return how many pixels a value is from the start of an axis, "xaxis" or "yaxis".
export const toPixels = (graph, axis, value) => graph._fullLayout[axis].l2p(value);
