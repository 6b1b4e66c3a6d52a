// A Plotly figure in a div of its own. Plotly.react redraws in place, so camera and zoom stay; `hover`
// lights the field of the element under the pointer, the keyboard or the lock, without the server.

import { beside, boxes, grid, lines, mesh, POINT, united } from "./boxes.js";
import { bearing, lookFrom, nearer } from "./camera.js";
import { along, gathered, left, placed, pulled } from "./cells.js";
import { latest, typeset, unpacked } from "./data.js";
import { BAR, framed, heightOf, shifts } from "./framing.js";
import { moveFrame } from "./heatmap.js";
import { same, unravel } from "./indices.js";
import { Inside } from "./inside.js";
import { Labels, written } from "./labels.js";
import { hear, tell } from "./linked.js";
import { drawOutline } from "./outline.js";
import {
  callAfterFrames,
  disablePicking,
  getCamera,
  getSides,
  readProjection,
  updateTraces,
} from "./plotly_internals.js";
import { faceAt, KEYS, listenToPointers, projection, walked } from "./pointing.js";
import { figureFile, saver } from "./saving.js";
import { Shared } from "./shared.js";
import { enlarge, sizeOf, watchSize } from "./sizing.js";
import { Stages, staged } from "./stages.js";
import { paint, pictured, stand, surface } from "./surface.js";

const plots = new WeakMap();
let library;

function loadPlotly(url) {
  library ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = undefined;
      reject(new Error(`plotly.js did not load from ${url}`));
    };
    document.head.append(script);
  });
  return library;
}

const axesOf = (layout) =>
  Object.keys(layout ?? {})
    .filter((key) => /^[xy]axis/.test(key))
    .sort()
    .join();

class Plot {
  constructor(root) {
    this.root = root;
    this.graph = root.querySelector(".nv-graph");
    this.readout = root.querySelector(".nv-readout");
    this.live = root.querySelector(".nv-live");
    this.home = root.querySelector(".nv-home");
    this.hidden = root.querySelector(".nv-hidden");
    this.focus = new Shared();
    this.view = { camera: new Shared(), gaps: new Shared(), cut: new Shared() };
    this.inside = new Inside(root.querySelector(".nv-inside"), (name, value) => this.look(name, value));
    this.labels = new Labels(root.querySelector(".nv-labels"));
    const board = root.querySelector(".nv-board");
    this.stages = new Stages(root.querySelector(".nv-stages"), board, (position) => this.stage(position));
    root.addEventListener("transitionend", (e) => {
      // the theme changed: the server has the figure's colours
      if (e.target === root && this.hover) this.setStateValue("theme", getComputedStyle(root).color);
    });
    hear(root, "nv-lock", ({ index }) => this.drawn && this.hover && this.fix(index, false));
    hear(root, "nv-part", ({ part }) => this.drawn && this.hover && this.lightPart(part));
    hear(root, "nv-element", ({ index }) => {
      this.told = index;
      if (this.drawn && this.graph.layout.meta?.frame) moveFrame(this.graph, index);
    });
    saver(
      this.graph,
      () => this.data,
      (format, alt) => figureFile(this.graph, format, alt, this.labels.texts),
    );
    watchSize(this.graph, () => this.refit());
  }

  async update({ data, setStateValue }) {
    this.root.dataset.drawing = "";
    this.data = data;
    this.setStateValue = setStateValue;
    this.setHeight();
    if (data.hover && !this.readout.textContent) this.readout.textContent = "\u00a0"; // as high as it will be
    this.root.dataset.sized = "";
    this.graph.setAttribute("role", "img");
    this.graph.setAttribute("aria-label", data.alt);
    try {
      await loadPlotly(data.library);
    } catch (error) {
      delete this.root.dataset.drawing;
      this.graph.textContent = `The picture is missing: ${error.message}. The numbers beside it are complete.`;
      return;
    }
    if (this.data === data) await this.draw(data); // else a newer one has come while the library loaded
  }

  get lock() {
    return this.focus.value;
  }

  // Give the container the height that the page sets, or the one that several copies need at its width.
  setHeight() {
    const { height, hover } = this.data;
    const copies = hover?.copies.length;
    this.graph.style.height = height ?? (copies > 1 ? heightOf(copies, this.graph.clientWidth) : "");
  }

  // Draw the figure again unless it fills its container; camera, zoom and the graph's elements stay.
  async refit() {
    if (!this.data || this.root.hasAttribute("data-drawing")) return;
    this.setHeight();
    const size = sizeOf(this.graph);
    if (!size || same(size, this.size)) return;
    this.root.dataset.drawing = "";
    this.figure = null;
    await this.draw(this.data);
  }

  async draw(data) {
    if (!sizeOf(this.graph)) {
      // drawn once it has an area
      this.size = null;
      delete this.root.dataset.drawing;
      return;
    }
    const { hover } = data;
    const words = JSON.stringify(hover?.labels);
    const redraw = !same(data.figure, this.figure) || words !== this.words;
    this.words = words;
    if (!same(hover?.shape, this.hover?.shape)) this.preview = null;
    const before = this.hover;
    this.hover = hover;
    const away = hover && this.drawn && !redraw && this.stay(before);
    const turned = hover && this.adopt(data);
    const moved = hover && this.arrange();
    this.stages.take(hover?.stages ?? null, data.still, {
      shape: hover?.shape,
      axes: data.axes,
      hues: () => this.hues,
    });
    if (redraw || (this.staged && this.stages.position === null)) {
      this.staged = this.lined = null;
      this.shown = this.lock;
      this.figure = data.figure;
      const { data: traces, layout } = unpacked(data.figure);
      this.hues = traces.find(({ name }) => name === "field")?.meta;
      if (!hover) this.fitPanels(layout);
      this.size = sizeOf(this.graph);
      const [width, height, scale] = this.size;
      // Names around a cube may only grow as it does.
      this.larger = hover ? Math.max(1, Math.min(scale, height / 420)) : scale;
      if (hover) this.fit(layout.scene, traces);
      enlarge({ traces, layout }, this.larger);
      Object.assign(layout, { width, height });
      const lit = hover ? { ...this.highlight(this.lock), ...this.body(traces) } : {};
      const config = {
        displayModeBar: false,
        scrollZoom: true,
        responsive: false,
        plotGlPixelRatio: window.devicePixelRatio,
      }; // Plotly would draw twice as wide and high on any screen
      // An axis that is no longer there would leave its title behind.
      if (this.drawn && axesOf(this.graph.layout) !== axesOf(layout)) window.Plotly.purge(this.graph);
      await window.Plotly.react(
        this.graph,
        traces.map((t) => ({ ...t, ...lit[t.name] })),
        layout,
        config,
      );
      if (hover) this.follow();
      if (hover && !this.drawn) this.listen();
      this.drawn = true;
      if (layout.meta?.frame && this.told) moveFrame(this.graph, this.told);
    }
    if (!redraw) {
      if (turned) this.turnTo(this.view.camera.value);
      if (moved || away) this.put(this.body());
      this.shown = null;
    }
    if (this.stages.position !== null) await this.stage(this.stages.position);
    else if (hover) this.light(this.preview ?? this.lock);
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
    delete this.root.dataset.drawing;
    this.refit(); // the container may have changed meanwhile
  }

  // The picture fills its frame, with what is written around it.
  fit(scene, traces) {
    const [width, height] = this.size;
    const { fontFamily: family } = getComputedStyle(this.graph);
    const bar = this.hover.copies.length === 1 || traces.some(({ showscale }) => showscale) ? BAR : 0;
    this.frame = framed(this.hover, scene, { width, height, family, bar, larger: this.larger }); // one cube stays where it is without a bar
    this.keepView(scene);
    this.place(scene.camera.eye);
  }

  // Where each copy stands, for an eye; whether that is elsewhere than before.
  place(eye) {
    const now = shifts(this.frame, eye);
    const { copies } = this.hover;
    if (copies.every(({ shift }, k) => shift?.every((v, d) => Math.abs(v - now[k][d]) < 1e-3))) return false;
    copies.forEach((copy, k) => {
      copy.shift = now[k];
    });
    return true;
  }

  // Copies stand where those before them did; whether the camera has been turned away from there meanwhile.
  stay({ copies }) {
    this.hover.copies.forEach((copy, k) => {
      copy.shift = copies[k].shift;
    });
    return this.place(getCamera(this.graph).eye);
  }

  // Titles and numbers around every copy, as it is seen now; copies stay beside each other however they are turned.
  write(scene) {
    const at = projection(scene);
    const { width, height } = scene.container.getBoundingClientRect();
    const { offsetLeft: left, offsetTop: top } = scene.container;
    const { extent, each } = this.hover.labels;
    const ticks = each[0].ticks.map((count, d) =>
      count ? along(this.hover, this.at, d).map((v) => v + this.at.size[d] / 2) : [],
    );
    const texts = [];
    each.forEach((one, k) => {
      const [dx, dy, dz] = this.hover.copies[k].shift;
      const project = ([x, y, z]) => {
        const [a, b] = at(x + dx, y + dy, z + dz);
        return [left + ((1 + a) / 2) * width, top + ((1 - b) / 2) * height];
      };
      texts.push(...written({ ...one, extent, ticks, swell: this.hover.swell }, project, this.frame.style, texts));
    });
    this.labels.show(texts);
    if (this.hover.copies.length < 2 || !this.place(getCamera(this.graph).eye)) return;
    requestAnimationFrame(() => this.put({ ...this.body(), ...this.highlight(this.shown ?? this.lock) }));
  }

  // Camera and zoom as they are now, or at first as the link has them. Plotly's uirevision would lose both when the
  // proportions change.
  keepView(scene) {
    const zoom = this.zoom;
    this.first = { camera: scene.camera, sides: { ...scene.aspectratio } };
    this.begin = bearing(scene.camera.eye, 1);
    const camera = this.view.camera.value ?? [];
    scene.camera = this.drawn ? getCamera(this.graph) : lookFrom(scene.camera, camera);
    scene.aspectratio = nearer(scene.aspectratio, this.drawn ? [0, 0, zoom] : camera);
  }

  // How near the camera is: scrolling an orthographic scene scales its sides.
  get zoom() {
    return this.drawn ? getSides(this.graph).x / this.first.sides.x : 1;
  }

  // Panels beside each other keep a width at which they can be read: on a narrow screen the figure scrolls sideways.
  fitPanels(layout) {
    const starts = Object.keys(layout)
      .filter((key) => key.startsWith("xaxis"))
      .map((key) => layout[key].domain?.[0]);
    const columns = new Set(starts).size;
    this.graph.style.minWidth = columns > 1 ? `${14 * columns}rem` : "";
    this.root.classList.toggle("nv-wide", columns > 1);
    const scrolls = columns > 1 && this.root.scrollWidth > this.root.clientWidth;
    this.root.tabIndex = scrolls ? 0 : -1; // arrow keys scroll it
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false; // and so does a finger
  }

  // Whatever the scene draws, the outline is drawn with it.
  follow() {
    disablePicking(this.graph);
    callAfterFrames(this.graph, () => {
      const scene = readProjection(this.graph);
      const { color } = this.graph.data.find(({ name }) => name === "element");
      this.write(scene);
      drawOutline(scene, this.boxesOf(this.shown ?? this.lock), this.hover.swell, color);
      this.watchCamera();
    });
  }

  // Once the camera has come to rest, the link is to have it.
  watchCamera() {
    const now = bearing(getCamera(this.graph).eye, this.zoom);
    if (same(now, this.bearing) || !this.data.view.camera) return;
    const first = !this.bearing;
    this.bearing = now;
    clearTimeout(this.resting);
    if (!first) this.resting = setTimeout(() => this.look("camera", same(now, this.begin) ? [] : now), 500);
  }

  // What the server says of what is set here, too; whether it has turned the camera.
  adopt({ focus, view }) {
    if (this.focus.take(focus)) this.preview = null;
    return Object.entries(view)
      .filter(([name, value]) => this.view[name].take(value))
      .some(([name]) => name === "camera");
  }

  // How the cube is looked at has changed here: for the link.
  look(name, value) {
    if (same(value, this.view[name].value)) return;
    this.view[name].set(value);
    if (name !== "camera") this.rearrange();
    clearTimeout(this.telling);
    this.telling = setTimeout(
      () => {
        const told = Object.keys(this.data.view).map((each) => [each, this.view[each].value]);
        this.setStateValue("view", { ...Object.fromEntries(told), at: Date.now() }); // news also where it was so before
      },
      name === "camera" ? 0 : 400,
    );
  }

  // Where the cells stand, pulled apart and cut as it is said; whether that is new.
  arrange() {
    const { hover, data } = this;
    const [gaps, cut] = ["gaps", "cut"].map((name) => this.view[name].value ?? []);
    this.at = pulled(hover, gaps);
    this.cut = hover.shape.map((n, axis) => Math.min(cut[axis] ?? 0, n - 1));
    this.stages.places = hover.stages?.places.map((bounds) => (bounds ? gathered(this.at, hover, bounds) : this.at));
    this.inside.take(data.view.gaps ? { hover, axes: data.axes, names: data.names, gaps, cut: this.cut } : null);
    if (this.preview && !this.isLeft(this.preview)) this.preview = null;
    const now = JSON.stringify([this.at.breaks, this.cut]);
    const moved = now !== this.arranged;
    this.arranged = now;
    return moved;
  }

  // The same while nothing else changes.
  rearrange() {
    if (!this.arrange()) return;
    const body = this.body();
    if (this.stages.position === null) this.light(this.preview ?? this.lock, body);
    else this.stage(this.stages.position);
  }

  // The corners and colours of all cells, from their levels, and the lines between them.
  body(traces) {
    const sent = traces?.find(({ name }) => name === "cells");
    if (sent) [this.levels, this.pixels] = [sent.intensity, sent.meta];
    this.surface = surface(this.hover, this.at, this.cut, this.levels);
    if (sent && this.pixels) delete sent.intensity; // Plotly would take that before the colours of pixels
    const cells = this.pixels && !this.staged ? pictured(this.surface, this.pixels) : this.surface.mesh;
    return { cells, grid: grid(this.hover, this.at, this.cut) };
  }

  // The cube at a position of the stages, null for none. Only what is moved goes to the graphics card.
  async stage(position) {
    if (position === null) {
      if (this.staged) await this.draw(this.data);
      return;
    }
    const now = staged(this.stages, position);
    const turn = (this.turn ?? 0) + 1;
    this.turn = turn;
    const index = this.graph.data.findIndex(({ name }) => name === "cells");
    if (this.staged?.look !== now.look) {
      this.staged = now;
      this.graph.data[index].intensity = this.surface.mesh.intensity; // a picture in colour has none
      const look = Object.fromEntries(Object.entries(now.look).map(([name, value]) => [name, [value]]));
      await window.Plotly.restyle(this.graph, look, [index]);
      disablePicking(this.graph);
      if (turn !== this.turn || this.stages.position === null) return; // moved on meanwhile
    }
    this.staged = now;
    stand(this.surface, placed(now.offsets), now.size, this.surface.mesh);
    paint(this.surface.cells, now.levels, this.surface.mesh.intensity, 0);
    this.light(now.sliding === null ? (this.preview ?? this.lock) : unravel(now.sliding, this.hover.shape), {
      cells: this.surface.mesh,
      ...this.ruled(now),
    });
  }

  // Give traces, by name, other numbers.
  put(found) {
    updateTraces(this.graph, found);
  }

  // The lines of a stage: between all cells while these stand as ever, else around the room, and what has come together.
  ruled({ still, collapsed }) {
    const now = JSON.stringify([still, collapsed, this.arranged]);
    const {
      hover,
      stages: { places },
    } = this;
    if (now === this.lined) return {};
    this.lined = now;
    const room = grid({ ...hover, fine: hover.fine && still }, this.at, this.cut);
    if (!collapsed) return { grid: room };
    const found = lines(united(places[collapsed], hover.stages.places[collapsed], hover.order, this.cut), 0.01);
    return { grid: Object.fromEntries(["x", "y", "z"].map((d) => [d, [...room[d], ...found[d]]])) };
  }

  // The traces that show an element and its field, by name.
  highlight(index) {
    const { order } = this.hover;
    const at = this.staged ?? this.at;
    // In every copy; without a field a point, as Plotly would drop an empty trace from the scene.
    const field = (name) =>
      this.hover.copies.flatMap((copy) =>
        copy[name]
          ? beside(
              copy,
              boxes(
                at,
                order,
                index.map((v, axis) => left(copy[name][axis][v], this.cut[axis])),
              ),
            )
          : POINT,
      );
    const bounds = field("bounds");
    const { part } = this;
    const most = this.hover.framed * this.hover.copies.length;
    const frames = (found) => lines(found.length > most ? POINT : found, 0.04);
    const role = part ?? this.staged?.role;
    const lit = role === "mean" && this.hover.copies.every(({ dashed }) => dashed) ? field("dashed") : bounds;
    return {
      field: {
        ...mesh(part || (this.hover.filled && !this.staged) ? lit : POINT, 0.03),
        color: this.hues[part ?? "field"],
      },
      edges: frames(lit),
      summation: frames(role ? POINT : field("dashed")),
      element: mesh(this.boxesOf(index), this.hover.swell),
    };
  }

  // Whether an element is not cut away.
  isLeft(index) {
    return index.every((v, axis) => v >= this.cut[axis]);
  }

  // Where an element is, in every copy.
  boxesOf(index) {
    const found = boxes(
      this.staged ?? this.at,
      this.hover.order,
      index.map((v) => [v, v + 1]),
    );
    return this.hover.copies.flatMap((copy) => beside(copy, found));
  }

  // Only the highlight, and what else is told to, goes to the graphics card; Plotly.restyle would send every trace.
  light(index, more) {
    this.say(index);
    this.hidden.hidden = this.isLeft(this.lock);
    this.root.dataset.by = same(index, this.lock) ? "lock" : this.preview ? "pointer" : "window"; // for the legend
    tell("nv-element", { index, by: this.root.dataset.by });
    if (same(index, this.shown) && !more) return;
    this.shown = index;
    this.put({ ...more, ...this.highlight(index) });
  }

  // The elements of a statistic in its colour; null: the field as it is otherwise.
  lightPart(part) {
    if (part === (this.part ?? null)) return;
    const index = this.shown ?? this.lock;
    [this.part, this.shown] = [part, null];
    this.light(index);
  }

  say(index) {
    const { shape, x, copies, stages } = this.hover;
    const { names, symbol, labels } = this.data;
    const flat = index.reduce((sum, v, axis) => sum * shape[axis] + v, 0);
    const show = (v) => typeset(v, 4);
    if (this.staged) {
      // its number travels with the stages
      const come = stages.list.slice(0, Math.ceil(this.stages.position) + 1);
      const last = new Map(come.map((stage) => [stage.symbol, stage.values[flat]]));
      const said = [...last].map(([name, value]) => `${name} = ${show(value)}`);
      this.readout.textContent = (said.length > 4 ? ["…", ...said.slice(-4)] : said).join(" → "); // in one line
      return;
    }
    this.readout.textContent =
      `${names.map((name, axis) => `${name} = ${index[axis]}`).join("  ")}    ` +
      `${symbol} = ${show(x[flat])}  →  ` +
      copies.map(({ xhat }, k) => `${labels[k] ?? `${symbol}̂`} = ${show(xhat[flat])}`).join("   ");
  }

  listen() {
    const graph = this.graph;
    graph.tabIndex = 0;
    const under = (x, y) => {
      const face = faceAt(readProjection(graph), this.surface.mesh, x, y);
      return face < 0 ? null : this.cellOf(face);
    };
    listenToPointers(graph, {
      over: (x, y) => this.point(under(x, y)),
      left: () => this.point(null),
      pressed: (x, y) => {
        const index = under(x, y);
        if (index) this.fix(index);
      },
      reset: () => this.resetView(),
    });
    this.home.onclick = () => this.resetView();
    this.home.hidden = false;
    graph.addEventListener("keydown", (e) => this.key(e));
  }

  // The element behind a face, of whichever copy.
  cellOf(face) {
    return unravel(this.surface.cells[face % this.surface.cells.length], this.hover.shape);
  }

  // As it stood at first: where the camera is, and how near.
  resetView() {
    this.look("camera", []);
    return this.turnTo([]);
  }

  turnTo(camera) {
    const { camera: first, sides } = this.first;
    return window.Plotly.relayout(this.graph, {
      "scene.camera": lookFrom(first, camera),
      "scene.aspectratio": nearer(sides, camera),
    });
  }

  // The pointer is at an element, or at none.
  point(index) {
    if (!index && !this.preview) return;
    this.preview = index;
    this.light(index ?? this.lock);
  }

  // Lock an element; `told`: the server by this component, else by another one.
  fix(index, told = true) {
    clearTimeout(this.timer);
    const now = same(index, this.lock);
    if (!now) this.focus.set(index);
    this.light(this.preview ?? index);
    this.live.textContent = this.readout.textContent;
    if (now) return;
    if (told) this.setStateValue("focus", [...index, Date.now()]); // news also where it was locked before
  }

  key(event) {
    if (!KEYS[event.key] && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Enter") return this.fix(this.preview ?? this.lock);
    const index = walked(this.preview ?? this.lock, KEYS[event.key], this.hover, this.cut);
    if (!index) return;
    this.preview = index;
    this.light(index);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fix(index), 250);
  }
}

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-plot");
  const data = latest(root, sent);
  if (!data) return;
  if (!plots.has(root)) plots.set(root, new Plot(root));
  plots.get(root).update({ data, setStateValue });
}
