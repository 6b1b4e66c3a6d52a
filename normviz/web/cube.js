// A cube in a figure: its cells, the highlighted element, the playback of stages, and the view.

import { arrangeCells, buildCellTraces, buildStageLines, readCells } from "./body.js";
import { placeElements } from "./cells.js";
import { find } from "./dom.js";
import { COLOUR_BAR_WIDTH } from "./framing.js";
import { buildHighlight, findElementBoxes, isVisible } from "./highlight.js";
import { isSameList, unravel } from "./indices.js";
import { InsideControls } from "./inside.js";
import { listenToEvent, sendEvent } from "./linked.js";
import { drawOutline } from "./outline.js";
import { callAfterFrames, disablePicking, readProjection, updateTraces } from "./plotly_internals.js";
import { findFace, listenToKeys, listenToPointers, stepIndex } from "./pointing.js";
import { listResults, writeNote, writeResult, writeStages, writeValues } from "./readout.js";
import { CubeScene } from "./scene.js";
import { Selection } from "./selection.js";
import { interpolateStages, Stages } from "./stages.js";
import { placeFaces, setIntensities } from "./surface.js";
import { SharedView } from "./view.js";

/** @import {CubeState} from "./body.js" */
/** @import {Index} from "./component.d.ts" */
/** @import {Figure, Hover, PlotMessage, View} from "./messages.d.ts" */
/** @import {Graph} from "./plotly.d.ts" */
/** @import {Size} from "./sizing.js" */
/** @import {Staged} from "./stages.js" */

/**
 * The message of a figure that shows a cube.
 * @typedef {PlotMessage & {hover: Hover}} CubeMessage
 *
 * Changes of a cube without a new figure: the server has turned the camera, cells have moved.
 * @typedef {{isTurned: boolean, isMoved: boolean}} Changes
 */

const HEIGHT = 420; // pixels of a cube whose texts have their normal size

export class Cube {
  data = /** @type {CubeMessage} */ ({});
  state = /** @type {CubeState} */ ({ staged: null, part: null, surface: null });
  /** The highlighted element; null if it has to be drawn again. */
  shown = /** @type {Index | null} */ (null);
  arranged = "";
  ruled = "";
  /** The last message to the components beside the cube: what lit an element, and its indices; "" sends the next one. */
  lastMessage = "";
  turn = 0;

  /**
   * @param {HTMLElement} root
   * @param {Graph} graph
   * @param {{send: (name: string, value: unknown) => void, redraw: () => Promise<void>}} actions
   */
  constructor(root, graph, { send, redraw }) {
    this.root = root;
    this.graph = graph;
    this.redraw = redraw;
    this.readout = find(root, ".nv-readout", HTMLElement);
    this.live = find(root, ".nv-live", HTMLElement);
    this.home = find(root, ".nv-home", HTMLElement);
    this.hidden = find(root, ".nv-hidden", HTMLElement);
    this.scene = new CubeScene(graph, find(root, ".nv-labels", Element));
    this.inside = new InsideControls(find(root, ".nv-fold", HTMLDetailsElement), (name, value) =>
      this.look(name, value),
    );
    this.legend = find(root, ".nv-legend", HTMLElement);
    this.stages = new Stages(find(root, ".nv-stages", HTMLElement), find(root, ".nv-told", HTMLElement), (position) =>
      this.stage(position),
    );
    this.view = new SharedView((view) => send("view", view));
    this.selection = new Selection({
      show: () => this.light(this.selection.current),
      announce: () => {
        this.live.textContent = this.readout.textContent;
      },
      send: (index) => send("focus", [...index, Date.now()]), // the time makes an equal index news
    });
    listenToEvent(root, "nv-lock", ({ index }) => this.scene.isDrawn && this.selection.fix(index, false));
    listenToEvent(root, "nv-part", ({ part }) => this.scene.isDrawn && this.lightPart(part));
  }

  /**
   * Store a message; `isNew`: its figure is drawn again.
   * @param {CubeMessage} data
   * @param {boolean} isNew
   * @returns {Changes}
   */
  take(data, isNew) {
    const { hover, view, focus, axes, still } = data;
    const before = this.data;
    this.lastMessage = "";
    this.data = data;
    if (!isSameList(hover.shape, before.hover?.shape)) this.selection.preview = null;
    this.state.hover = hover;
    const isAway = this.scene.isDrawn && !isNew && this.scene.placeAsBefore(hover.copies, before.hover.copies);
    if (data.legend !== before.legend) this.legend.innerHTML = data.legend;
    this.selection.take(focus);
    const isTurned = this.view.take(view);
    const isMoved = this.arrange() || isAway;
    this.stages.take(hover.stages, still, { shape: hover.shape, axes, hues: () => this.state.hues });
    return { isTurned, isMoved };
  }

  /** Return true if the cells are still drawn as in a stage although playback has ended. */
  get isBehindStages() {
    return this.state.staged !== null && this.stages.position === null;
  }

  /**
   * Fit a new figure to a size; return the scale of its texts, and the traces of the highlight by name.
   * @param {Figure} figure
   * @param {Size} size
   */
  prepare({ data: traces, layout }, [width, height, scale]) {
    Object.assign(this.state, { staged: null, ...readCells(traces) });
    this.ruled = "";
    this.shown = this.selection.lock;
    const larger = Math.max(1, Math.min(scale, height / HEIGHT)); // texts grow no faster than the cube
    const { fontFamily: family } = getComputedStyle(this.graph);
    const { hover } = this.state;
    // One cube stays where it is without a bar.
    const bar = hover.copies.length === 1 || traces.some(({ showscale }) => showscale) ? COLOUR_BAR_WIDTH : 0;
    this.scene.fit(layout.scene, hover, { width, height, family, bar, larger }, this.view.camera);
    return { larger, lit: { ...buildHighlight(this.state, this.selection.lock), ...this.build() } };
  }

  /** Listen to the frames, the pointers and the keys of a drawn figure. */
  follow() {
    disablePicking(this.graph);
    callAfterFrames(this.graph, () => this.drawOver());
    if (!this.scene.isDrawn) this.listen();
    this.scene.isDrawn = true;
  }

  /** Draw what lies over the scene, in the frame that draws the scene. */
  drawOver() {
    const scene = readProjection(this.graph);
    const { hover, at } = this.state;
    const index = this.shown ?? this.selection.lock;
    const colour = String(this.graph.data.find(({ name }) => name === "element")?.color);
    const found = findElementBoxes(this.state, index);
    const isOne = hover.copies.length === 1;
    const mark = isOne ? { forms: this.noteOn(index), box: found[0], colour } : null;
    if (this.scene.write(scene, hover, at, mark, isOne ? [] : this.listNotes(index))) {
      requestAnimationFrame(() => {
        updateTraces(this.graph, { ...this.build(), ...buildHighlight(this.state, this.shown ?? this.selection.lock) });
      });
    }
    this.readout.style.setProperty("--nv-element", colour);
    const isFilled = hover.filled || this.state.staged !== null;
    const isMarked = isFilled || !hover.labels.each[0].note;
    drawOutline(scene, isMarked ? found : [], isFilled ? hover.overhang : 0, colour, isFilled);
    this.home.hidden = !this.scene.isTurned;
    if (this.data.view.camera) this.scene.watchCamera((camera) => this.look("camera", camera));
  }

  /**
   * Update a figure that is not drawn again.
   * @param {Changes} changes
   */
  apply({ isTurned, isMoved }) {
    if (isTurned) this.turnCamera();
    if (isMoved) updateTraces(this.graph, this.build());
    this.shown = null;
  }

  /** Turn the camera to the server's bearing. */
  turnCamera() {
    this.scene.turnTo(this.view.camera);
  }

  /** Show the playing stage or the selected element. */
  async show() {
    if (this.stages.position !== null) await this.stage(this.stages.position);
    else this.light(this.selection.current);
  }

  /**
   * Store a part of the view for the link.
   * @template {keyof View} Name
   * @param {Name} name
   * @param {Required<View>[Name]} value
   */
  look(name, value) {
    if (!this.view.set(name, value) || name === "camera" || !this.arrange()) return;
    const body = this.build();
    if (this.stages.position === null) this.light(this.selection.current, body);
    else this.stage(this.stages.position);
  }

  /** Compute the positions of the cells; return true if they move. */
  arrange() {
    const { state, data, selection } = this;
    const { hover } = state;
    const { gaps, cut } = this.view;
    Object.assign(state, arrangeCells(hover, gaps, cut));
    this.inside.take(data.view.gaps ? { hover, axes: data.axes, names: data.names, gaps, cut: state.cut } : null);
    if (selection.preview && !isVisible(selection.preview, state.cut)) selection.preview = null;
    const now = JSON.stringify([state.at.breaks, state.cut]);
    const isMoved = now !== this.arranged;
    this.arranged = now;
    return isMoved;
  }

  /** Rebuild the surface of the cells; return its traces. */
  build() {
    const { surface, traces } = buildCellTraces(this.state);
    this.state.surface = surface;
    return traces;
  }

  /**
   * Show the cube at a position of the stages, or without them for null. Only moved cells go to the graphics card.
   * @param {number | null} position
   */
  async stage(position) {
    const { state, graph, stages } = this;
    if (position === null) {
      if (state.staged) await this.redraw();
      return;
    }
    if (!state.surface || !state.hover.stages) return;
    const now = interpolateStages(state.hover.stages, state.places, position, state.hover.shape);
    const turn = ++this.turn;
    if (state.staged?.look !== now.look) {
      state.staged = now;
      const index = graph.data.findIndex(({ name }) => name === "cells");
      graph.data[index].intensity = state.surface.mesh.intensity; // a picture in colour has none
      const look = Object.fromEntries(Object.entries(now.look).map(([name, value]) => [name, [value]]));
      await window.Plotly.restyle(graph, look, [index]);
      disablePicking(graph);
      if (turn !== this.turn || stages.position === null) return; // moved on meanwhile
    }
    state.staged = now;
    placeFaces(state.surface, placeElements(now.offsets), now.size, state.surface.mesh);
    setIntensities(state.surface.cells, now.levels, state.surface.mesh.intensity, 0);
    const index = now.sliding === null ? this.selection.current : unravel(now.sliding, state.hover.shape);
    this.light(index, { cells: state.surface.mesh, ...this.rule(now) });
  }

  /**
   * Return the lines of a stage as a trace, or nothing if they are already drawn.
   * @param {Staged} stage
   * @returns {Record<string, object>}
   */
  rule({ still, collapsed }) {
    const now = JSON.stringify([still, collapsed, this.arranged]);
    if (now === this.ruled) return {};
    this.ruled = now;
    return { grid: buildStageLines(this.state, { still, collapsed }) };
  }

  /**
   * Highlight an element and its field. Only these and `more` traces go to the graphics card.
   * @param {Index} index
   * @param {Record<string, object>} [more]
   */
  light(index, more) {
    const { root, state, selection } = this;
    this.write(index);
    this.hidden.hidden = isVisible(selection.lock, state.cut);
    const by = isSameList(index, selection.lock) ? "lock" : selection.preview ? "pointer" : "window";
    root.dataset.by = by; // for the legend
    const message = `${by} ${index}`;
    if (message !== this.lastMessage) sendEvent("nv-element", { index, by });
    this.lastMessage = message;
    if (isSameList(index, this.shown) && !more) return;
    this.shown = index;
    updateTraces(this.graph, { ...more, ...buildHighlight(state, index) });
  }

  /**
   * Highlight the elements of a statistic in its colour, or the field for null.
   * @param {string | null} part
   */
  lightPart(part) {
    if (part === this.state.part) return;
    const index = this.shown ?? this.selection.lock;
    this.state.part = part;
    this.shown = null;
    this.light(index);
  }

  /**
   * Write the line over the cube for an element.
   * @param {Index} index
   */
  write(index) {
    const { hover, staged } = this.state;
    const list = hover.stages?.list.slice(0, Math.ceil(this.stages.position ?? 0) + 1) ?? [];
    const text = staged ? writeStages(list, hover.shape, index) : writeValues(this.data, hover, index);
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }

  /**
   * Return the note on an element, the longest form first: its value and result, or its value at the playing stage.
   * @param {Index} index
   */
  noteOn(index) {
    const { hover, staged } = this.state;
    const stage = staged && hover.stages?.list[Math.ceil(this.stages.position ?? 0)];
    const value = { symbol: this.data.symbol, values: hover.x, shape: hover.shape };
    const note = writeNote(stage || value, hover.shape, index);
    return stage ? [note] : [writeResult(this.data, hover, index), note];
  }

  /**
   * Return the line below the heading of each of several copies.
   * @param {Index} index
   */
  listNotes(index) {
    const { hover } = this.state;
    return listResults(this.data.symbol, hover, index).map((text, k) => hover.labels.each[k].note || text);
  }

  listen() {
    const { graph, selection } = this;
    graph.tabIndex = 0;
    listenToPointers(graph, {
      over: (x, y) => selection.point(this.findUnder(x, y)),
      left: () => selection.point(null),
      pressed: (x, y) => {
        const index = this.findUnder(x, y);
        if (index) selection.fix(index);
      },
      reset: () => this.resetView(),
    });
    listenToKeys(graph, {
      moved: (key) => {
        const index = stepIndex(selection.current, key, this.state.hover, this.state.cut);
        if (index) selection.walkTo(index);
      },
      entered: () => selection.fix(selection.current),
    });
    this.home.onclick = () => this.resetView();
  }

  /**
   * Return the index of the element at a point of the window, in any copy, or null.
   * @param {number} x
   * @param {number} y
   */
  findUnder(x, y) {
    const { surface, hover } = this.state;
    const face = surface ? findFace(readProjection(this.graph), surface.mesh, x, y) : -1;
    return surface && face >= 0 ? unravel(surface.cells[face % surface.cells.length], hover.shape) : null;
  }

  /** Reset the camera and the zoom. */
  resetView() {
    this.look("camera", []);
    this.scene.turnTo([]);
  }
}
