// The size of a figure: that of its container and that of its text. A figure is drawn again when either changes.

/** @import {FigureLayout} from "./messages.d.ts" */

/**
 * The width and the height of a container in pixels, and the factor of its text.
 * @typedef {[width: number, height: number, scale: number]} Size
 */

const PAUSE = 60; // ms without another change before the figure is drawn: a sidebar slides, a window is dragged
const PANEL = 14; // rem: the width at which a panel beside others can be read
const GAP = 12; // pixels below the numbers of an axis
const TITLE = 20; // and for its title

/**
 * Return the factor by which presentation mode enlarges all text.
 * @param {Element} root
 */
const readTextScale = (root) => Number(getComputedStyle(root).getPropertyValue("--nv-enlarged")) || 1;

/**
 * Return the size of a container; null without an area, as in a closed expander. A cube drawn without an area would
 * report a camera that nobody turned.
 * @param {Element} graph
 * @returns {Size | null}
 */
export function measureSize(graph) {
  const { clientWidth: width, clientHeight: height } = graph;
  return graph.isConnected && width && height ? [width, height, readTextScale(graph)] : null;
}

/**
 * Call `changed` after each change of the container's size, once per burst of changes. The pause also keeps the height
 * that `changed` may set out of the observer's own frame.
 * @param {Element} graph
 * @param {() => void} changed
 */
export function watchSize(graph, changed) {
  let timer = 0;
  new ResizeObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(changed, PAUSE);
  }).observe(graph);
}

/**
 * Scale all text, margins and arrow offsets of a figure, or of a part of it.
 * @param {unknown} part
 * @param {number} by
 */
export function enlargeText(part, by) {
  if (by === 1 || !part || typeof part !== "object" || ArrayBuffer.isView(part)) return;
  for (const [name, value] of Object.entries(part)) {
    if (/font$/.test(name) && value?.size) value.size *= by;
    else if (/standoff$/.test(name)) Reflect.set(part, name, value * by);
    else if (name === "margin") for (const side of ["l", "r", "t", "b"]) value[side] *= by;
    else enlargeText(value, by);
  }
}

/**
 * Keep panels readable on a narrow screen: the figure scrolls sideways.
 * @param {HTMLElement} root
 * @param {HTMLElement} graph
 * @param {FigureLayout} layout
 */
export function fitPanels(root, graph, layout) {
  const axes = /** @type {{domain?: number[]}[]} */ (
    Object.keys(layout)
      .filter((key) => key.startsWith("xaxis"))
      .map((key) => layout[key])
  );
  const columns = new Set(axes.map(({ domain }) => domain?.[0])).size;
  graph.style.minWidth = columns > 1 ? `${PANEL * columns}rem` : "";
  root.classList.toggle("nv-wide", columns > 1);
  const scrolls = columns > 1 && root.scrollWidth > root.clientWidth;
  root.tabIndex = scrolls ? 0 : -1; // arrow keys scroll it
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // and so does a finger
}

/**
 * Set the margin below a figure whose legend is at the lower edge to the height of the drawn legend and of the axis;
 * return true if it changes.
 * @param {HTMLElement} graph
 * @param {FigureLayout} layout
 * @param {number} larger factor of the text
 */
export function fitLegend(graph, layout, larger) {
  const legend = graph.querySelector(".legend .bg");
  if (layout.legend?.yref !== "container" || !legend) return false;
  const { margin } = layout;
  const drawn = [legend, ...graph.querySelectorAll(".xaxislayer-above")].map(
    (part) => part.getBoundingClientRect().height,
  );
  const title = layout.xaxis?.title?.text ? TITLE : 0;
  const room = Math.ceil(drawn[0] + Math.max(...drawn.slice(1)) + (GAP + title) * larger);
  const changed = room !== margin.b;
  margin.b = room;
  return changed;
}
