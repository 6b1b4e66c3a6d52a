// A Plotly figure in an element of its own. Plotly.react redraws in place, so camera and zoom stay. With `hover` the
// figure is a cube: cube.js lights the field of an element without the server.

import { Cube } from "./cube.js";
import { unpackMessage } from "./data.js";
import { countDrawing, find } from "./dom.js";
import { COLOUR_BAR_WIDTH, computeHeight } from "./framing.js";
import { moveFrame } from "./heatmap.js";
import { isSameList } from "./indices.js";
import { loadPlotly } from "./library.js";
import { listenToEvent } from "./linked.js";
import { mount } from "./mount.js";
import { createPageFile } from "./saved_page.js";
import { addSaveMenu, createFigureFile } from "./saving.js";
import { enlargeText, fitLegend, fitPanels, measureSize, watchSize } from "./sizing.js";

/** @import {Index, SetValue} from "./component.d.ts" */
/** @import {CubeMessage} from "./cube.js" */
/** @import {Figure, PlotMessage} from "./messages.d.ts" */
/** @import {Graph, Layout} from "./plotly.d.ts" */
/** @import {Size} from "./sizing.js" */

/**
 * Return the axes of a layout as one string, for comparison.
 * @param {Layout} layout
 */
const nameAxes = (layout) =>
  Object.keys(layout ?? {})
    .filter((key) => /^[xy]axis/.test(key))
    .sort()
    .join();

export class Plot {
  isDrawn = false;
  /** @type {Cube | null} */
  cube = null;
  /** @type {Uint8Array | undefined} */
  packed;
  /** The packed figure that is drawn. */
  figure = /** @type {Uint8Array | null} */ (null);
  /** The texts around the drawn cube. */
  words = "";
  /** @type {Size | null} */
  size = null;
  /** @type {Index | null} */
  element = null;

  /**
   * @param {HTMLElement} root
   * @param {PlotMessage} data
   * @param {SetValue} send
   */
  constructor(root, data, send) {
    this.root = root;
    this.data = data;
    this.send = send;
    this.graph = /** @type {Graph} */ (find(root, ".nv-graph", HTMLElement));
    this.readout = find(root, ".nv-readout", HTMLElement);
    root.addEventListener("transitionend", ({ target }) => {
      // the theme changed: the server has the figure's colours
      if (target === root) this.send("theme", getComputedStyle(root).color);
    });
    listenToEvent(root, "nv-element", ({ index }) => {
      this.element = index;
      if (this.isDrawn) moveFrame(this.graph, index);
    });
    addSaveMenu(
      this.graph,
      () => this.data,
      (format, alt) =>
        format === "html"
          ? this.createPageFile()
          : createFigureFile(this.graph, format, alt, this.cube?.scene.labels.texts ?? []),
      data.page ? ["PNG", "SVG", "Web page"] : ["PNG", "SVG"],
    );
    watchSize(this.graph, () => this.refit());
  }

  /**
   * Show a message.
   * @param {PlotMessage} data
   * @param {SetValue} send
   * @param {Uint8Array} [packed] the message as it came, for a saved page
   */
  async update(data, send, packed) {
    this.root.dataset.drawing = "";
    this.data = data;
    this.packed = packed;
    this.send = send;
    this.setHeight();
    if (data.hover && !this.readout.textContent) this.readout.textContent = "\u00a0"; // as high as it will be
    this.root.dataset.sized = "";
    this.graph.setAttribute("role", "img");
    this.graph.setAttribute("aria-label", data.alt);
    try {
      await loadPlotly(data.library);
    } catch (error) {
      delete this.root.dataset.drawing;
      const reason = error instanceof Error ? error.message : error;
      this.graph.textContent = `The picture is missing: ${reason}. The numbers beside it are complete.`;
      return;
    }
    if (this.data === data) await this.draw(); // else a newer one has come while the library loaded
  }

  /** Return the file of a web page with this figure, or null before it is drawn. */
  async createPageFile() {
    const { cube, packed, data, graph } = this;
    if (!packed || (data.hover && !cube)) return null;
    const theme = getComputedStyle(graph).colorScheme;
    const look = cube ? { focus: cube.selection.lock, view: cube.view.values } : {};
    return createPageFile(data.page, packed, { theme, ...look });
  }

  /** Set the height of the container from the page, or from its width for several copies. */
  setHeight() {
    const { height, hover } = this.data;
    const copies = hover?.copies.length ?? 0;
    const bar = hover?.filled ? 0 : COLOUR_BAR_WIDTH;
    this.graph.style.height = height ?? (copies > 1 ? computeHeight(copies, this.graph.clientWidth, bar) : "");
  }

  /** Draw the figure again unless it fills its container; camera, zoom and the graph's elements stay. */
  async refit() {
    if (this.root.hasAttribute("data-drawing")) return;
    this.setHeight();
    const size = measureSize(this.graph);
    if (!size || isSameList(size, this.size)) return;
    this.root.dataset.drawing = "";
    this.figure = null;
    await this.draw();
  }

  /** Draw the figure if it is new, and its highlight. */
  async draw() {
    const { data } = this;
    if (!measureSize(this.graph)) {
      // drawn once it has an area
      this.size = null;
      delete this.root.dataset.drawing;
      return;
    }
    const words = JSON.stringify(data.hover?.labels);
    const isNew = !isSameList(data.figure, this.figure) || words !== this.words;
    this.words = words;
    const cube = data.hover && this.openCube();
    const changes = cube?.take(/** @type {CubeMessage} */ (data), isNew);
    const { isDrawn } = this;
    if (isNew || cube?.isBehindStages) await this.drawFigure(data.figure, cube);
    if (!isNew && changes) cube?.apply(changes);
    if (isNew && isDrawn && changes?.isTurned) cube?.turnCamera(); // a new figure keeps the camera of the one before
    await cube?.show();
    countDrawing(this.root);
    delete this.root.dataset.drawing;
    this.refit(); // the container may have changed meanwhile
  }

  /** Return the cube of this figure. */
  openCube() {
    this.cube ??= new Cube(this.root, this.graph, {
      send: (name, value) => this.send(name, value),
      redraw: () => this.draw(),
    });
    return this.cube;
  }

  /**
   * Draw a packed figure, with or without a cube.
   * @param {Uint8Array} packed
   * @param {Cube | null} cube
   */
  async drawFigure(packed, cube) {
    const { graph } = this;
    this.figure = packed;
    /** @type {Figure} */
    const figure = unpackMessage(packed);
    const { data: traces, layout } = figure;
    if (!cube) fitPanels(this.root, graph, layout);
    const size = /** @type {Size} */ (measureSize(graph));
    this.size = size;
    const [width, height, scale] = size;
    /** @type {{larger: number, lit: Record<string, object>}} */
    const { larger, lit } = cube ? cube.prepare(figure, size) : { larger: scale, lit: {} };
    enlargeText(figure, larger);
    Object.assign(layout, { width, height });
    const config = {
      displayModeBar: false,
      scrollZoom: true,
      responsive: false,
      plotGlPixelRatio: window.devicePixelRatio, // Plotly would draw twice as wide and high on any screen
    };
    // An axis that is no longer there would leave its title behind.
    if (this.isDrawn && nameAxes(graph.layout) !== nameAxes(layout)) window.Plotly.purge(graph);
    const drawn = traces.map((trace) => ({ ...trace, ...lit[trace.name ?? ""] }));
    fitLegend(graph, layout, larger);
    await window.Plotly.react(graph, drawn, layout, config);
    if (fitLegend(graph, layout, larger)) await window.Plotly.react(graph, drawn, layout, config);
    cube?.follow();
    this.isDrawn = true;
    if (this.element) moveFrame(graph, this.element);
  }
}

export default mount(".nv-plot", Plot);
