// A Plotly figure in a div of its own. Plotly.react redraws in place, so camera and zoom stay; `hover`
// lights the field of the element under the pointer, the keyboard or the lock, without the server.

const plots = new WeakMap();
let library;

function loadPlotly(url) {
  library ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve(window.Plotly);
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { library = undefined; reject(new Error(`plotly.js did not load from ${url}`)); };
    document.head.append(script);
  });
  return library;
}

const unravel = (flat, shape) => shape.reduceRight(([left, index], n) => [Math.floor(left / n), [left % n, ...index]],
  [flat, []])[1];
const same = (a, b) => a && b && a.length === b.length && a.every((v, i) => v === b[i]);

const axesOf = (layout) => Object.keys(layout ?? {}).filter((key) => /^[xy]axis/.test(key)).sort().join();

class Plot {
  constructor(root) {
    this.root = root;
    this.graph = root.querySelector(".nv-graph");
    this.readout = root.querySelector(".nv-readout");
    this.live = root.querySelector(".nv-live");
    this.home = root.querySelector(".nv-home");
    this.pending = [];                          // locks sent and not yet echoed by the server
    this.stages = new Stages(root.querySelector(".nv-stages"), (position) => this.stage(position));
    root.addEventListener("transitionend", (e) => {   // the theme changed: the server has the figure's colours
      if (e.target === root && this.hover) this.setStateValue("theme", getComputedStyle(root).color);
    });
    const shown = () => this.drawn && this.graph.isConnected && this.graph.clientWidth > 0;
    new ResizeObserver(() => shown() && window.Plotly.Plots.resize(this.graph)).observe(this.graph);
  }

  async update({ data, setStateValue }) {
    this.root.dataset.drawing = "";
    this.data = data;
    this.setStateValue = setStateValue;
    this.graph.style.height = data.height ?? "";
    this.graph.setAttribute("role", "img");
    this.graph.setAttribute("aria-label", data.alt);
    try { await loadPlotly(data.library); } catch (error) {
      delete this.root.dataset.drawing;
      this.graph.textContent = `The picture is missing: ${error.message}. The numbers beside it are complete.`;
      return;
    }
    if (this.data === data) await this.draw(data);  // else a newer one has come while the library loaded
  }

  async draw(data) {
    const redraw = !same(data.figure, this.figure), { hover } = data;
    this.hover = hover;
    if (hover) this.adopt(data.focus);
    this.stages.take(hover?.stages ?? null, data.still);
    if (redraw || (this.staged && this.stages.position === null)) {
      this.staged = null;
      this.figure = data.figure;
      const { data: traces, layout } = unpacked(data.figure);
      if (hover) { this.keepView(layout.scene); this.fitText(traces, layout.scene); } else this.fitPanels(layout);
      const lit = hover ? { ...this.highlight(this.lock), cells: this.cells(traces) } : {};
      const config = { displayModeBar: false, scrollZoom: true, responsive: false,
        plotGlPixelRatio: window.devicePixelRatio };  // Plotly would draw twice as wide and high on any screen
      // An axis that is no longer there would leave its title behind.
      if (this.drawn && axesOf(this.graph.layout) !== axesOf(layout)) window.Plotly.purge(this.graph);
      await window.Plotly.react(this.graph, traces.map((t) => ({ ...t, ...lit[t.name] })), layout, config);
      if (hover) this.pickCellsOnly();
      if (hover && !this.drawn) this.listen();
      this.drawn = true;
    }
    this.shown = redraw ? this.lock : null;
    if (this.stages.position !== null) await this.stage(this.stages.position);
    else if (hover) this.light(this.preview ?? this.lock);
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
    delete this.root.dataset.drawing;
  }

  // Camera and zoom as they are now. Plotly's uirevision would lose both when the proportions change.
  keepView(scene) {
    const asked = this.proportions, now = this.drawn && this.graph._fullLayout.scene;
    this.proportions = { ...scene.aspectratio };
    if (!now) return;
    scene.camera = now._scene.getCamera();
    const zoom = now.aspectratio.x / asked.x;      // scrolling an orthographic scene scales its sides
    for (const d of ["x", "y", "z"]) scene.aspectratio[d] *= zoom;
  }

  // On a narrow screen the names below a row of copies would run into each other.
  fitText(traces, scene) {
    const share = this.graph.clientWidth / (150 * this.hover.copies.length), scale = Math.max(0.6, Math.min(1, share));
    const axes = ["xaxis", "yaxis", "zaxis"].flatMap((name) => [scene[name].title.font, scene[name].tickfont]);
    for (const font of [...traces.map((t) => t.textfont), ...axes]) if (font) font.size *= scale;
  }

  // Panels beside each other keep a width at which they can be read: on a narrow screen the figure scrolls sideways.
  fitPanels(layout) {
    const starts = Object.keys(layout).filter((key) => key.startsWith("xaxis")).map((key) => layout[key].domain?.[0]);
    const columns = new Set(starts).size;
    this.graph.style.minWidth = columns > 1 ? `${14 * columns}rem` : "";
    this.root.classList.toggle("nv-wide", columns > 1);
    const scrolls = columns > 1 && this.root.scrollWidth > this.root.clientWidth;
    this.root.tabIndex = scrolls ? 0 : -1;                                   // arrow keys scroll it
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;    // and so does a finger
  }

  // Lines and highlights would catch the pointer in front of the cells behind them, `hoverinfo` or not.
  pickCellsOnly() {
    const { _scene } = this.graph._fullLayout.scene;
    for (const { name, uid } of this.graph._fullData) {
      if (name === "cells") continue;
      for (const part of Object.values(_scene.traces[uid] ?? {})) if (part?.drawPick) part.drawPick = () => {};
    }
  }

  // The server's focus wins, unless it is the echo of a lock that a newer one has already replaced.
  adopt(focus) {
    const echo = this.pending.findIndex((sent) => same(sent, focus));
    this.pending = echo < 0 ? [] : this.pending.slice(echo + 1);
    if (this.pending.length || same(focus, this.lock)) return;
    this.lock = focus;
    this.preview = null;
  }

  // The corners and colours of all cells, from their levels.
  cells(traces) {
    const { intensity } = traces.find(({ name }) => name === "cells");
    this.surface = surface(this.hover, intensity);
    return this.surface.mesh;
  }

  // The cube at a position of the stages, null for none. Only what is moved goes to the graphics card.
  async stage(position) {
    if (position === null) {
      if (this.staged) await this.draw(this.data);
      return;
    }
    const now = staged(this.hover.stages, position), turn = (this.turn = (this.turn ?? 0) + 1);
    const index = this.graph._fullData.findIndex(({ name }) => name === "cells");
    if (this.staged?.look !== now.look) {
      this.staged = now;
      const look = Object.fromEntries(Object.entries(now.look).map(([name, value]) => [name, [value]]));
      await window.Plotly.restyle(this.graph, look, [index]);
      this.pickCellsOnly();
      if (turn !== this.turn || this.stages.position === null) return;   // moved on meanwhile
    }
    this.staged = now;
    const { x, y, z, intensity } = this.surface.mesh;
    stand(this.surface, placed(now.offsets), now.size, { x, y, z }, 0, 0);
    paint(this.surface.cells, now.levels, intensity, 0);
    this.put({ cells: { x, y, z, intensity } }, !this.stages.playing);
    this.shown = null;
    this.light(now.sliding === null ? this.preview ?? this.lock : unravel(now.sliding, this.hover.shape));
  }

  // Give traces, by name, other numbers; `picked`: whether the pointer is to find them where they are now.
  put(found, picked = false) {
    const scene = this.graph._fullLayout.scene._scene;
    this.graph._fullData.filter((full) => found[full.name]).forEach((full) => {
      Object.assign(full, found[full.name]);
      Object.assign(this.graph.data[full.index], found[full.name]);
      const trace = scene.traces[full.uid];
      trace.update(full);
      // What is not in the look-up picture of what can be picked, or moves on at once, need not be drawn there.
      if (!picked) for (const part of Object.values(trace)) if (part?.drawPick) part.dirty = false;
    });
    scene.glplot.redraw();
  }

  // The traces that show an element and its field, by name.
  highlight(index) {
    const { order } = this.hover, at = this.staged ?? this.hover;
    // In every copy; without a field a point, as Plotly would drop an empty trace from the scene.
    const field = (name) => this.hover.copies.flatMap((copy) => (copy[name]
      ? along(copy, boxes(at, order, index.map((v, axis) => copy[name][axis][v]))) : POINT));
    const element = boxes(at, order, index.map((v) => [v, v + 1])), bounds = field("bounds");
    const most = this.hover.framed * this.hover.copies.length;
    const frames = (found) => lines(found.length > most ? POINT : found, 0.04);
    return {
      field: mesh(this.hover.filled && !this.staged ? bounds : POINT, 0.03),
      edges: frames(bounds),
      summation: frames(field("dashed")),
      element: mesh(this.hover.copies.flatMap((copy) => along(copy, element)), this.hover.swell),
    };
  }

  // Only the highlight goes to the graphics card again; Plotly.restyle would send every trace.
  light(index) {
    this.say(index);
    if (same(index, this.shown)) return;
    this.shown = index;
    this.put(this.highlight(index));
  }

  say(index) {
    const { shape, x, copies, stages } = this.hover, { names, symbol, labels } = this.data;
    const flat = index.reduce((sum, v, axis) => sum * shape[axis] + v, 0);
    const show = (v) => (Number.isFinite(v) ? String(Number(v.toPrecision(4))).replace("-", "−") : String(v));
    if (this.staged) {                                  // its number travels with the stages
      const come = stages.list.slice(0, Math.ceil(this.stages.position) + 1);
      const last = new Map(come.map((stage) => [stage.symbol, stage.values[flat]]));
      const said = [...last].map(([name, value]) => `${name} = ${show(value)}`);
      this.readout.textContent = (said.length > 4 ? ["…", ...said.slice(-4)] : said).join(" → ");   // in one line
      return;
    }
    this.readout.textContent = `${names.map((name, axis) => `${name} = ${index[axis]}`).join("  ")}    `
      + `${symbol} = ${show(x[flat])}  →  `
      + copies.map(({ xhat }, k) => `${labels[k] ?? `${symbol}̂`} = ${show(xhat[flat])}`).join("   ");
  }

  listen() {
    const graph = this.graph;
    graph.tabIndex = 0;
    graph.on("plotly_hover", ({ points: [point] }) => {
      if (point.data.name !== "cells" || touched(graph)) return;
      this.preview = this.cellOf(point.pointNumber >> 2);
      this.light(this.preview);
    });
    graph.on("plotly_unhover", () => this.leave());
    graph.addEventListener("pointerleave", () => this.leave());
    listenToPointers(graph, {
      pressed: (x, y) => {
        const face = faceAt(graph._fullLayout.scene._scene, this.surface.mesh, x, y);
        if (face >= 0) this.fix(this.cellOf(face));
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
    const { camera } = unpacked(this.figure).layout.scene;
    return window.Plotly.relayout(this.graph, { "scene.camera": camera, "scene.aspectratio": { ...this.proportions } });
  }

  leave() { this.preview = null; this.light(this.lock); }

  fix(index) {
    clearTimeout(this.timer);
    const now = same(index, this.lock);
    this.lock = index;
    this.light(this.preview ?? index);
    this.live.textContent = this.readout.textContent;
    if (now) return;
    this.pending.push(index);
    this.setStateValue("focus", index);
  }

  // Arrows move along the picture's x and z, Page keys along its depth, Home and End from block to block, or to the
  // ends of a row where there is one block.
  key(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [2, -1], ArrowDown: [2, 1],
      PageUp: [1, -1], PageDown: [1, 1], Home: [3, -1], End: [3, 1] }[event.key];
    if (!move && event.key !== "Enter") return;
    event.preventDefault();
    if (!move) return this.fix(this.preview ?? this.lock);
    const index = [...(this.preview ?? this.lock)], { shape, dimensions } = this.hover;
    if (!dimensions[move[0]].length) {                            // without blocks: to the first, or the last, along x
      for (const axis of dimensions[0]) index[axis] = move[1] > 0 ? shape[axis] - 1 : 0;
    }
    for (const axis of [...dimensions[move[0]]].reverse()) {      // the last axis runs fastest and carries over
      const to = index[axis] + move[1];
      if (to >= 0 && to < shape[axis]) { index[axis] = to; break; }
      if (axis === dimensions[move[0]][0]) return;
      index[axis] = move[1] > 0 ? 0 : shape[axis] - 1;
    }
    this.preview = index;
    this.light(index);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fix(index), 250);
  }
}

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-plot"), data = latest(root, sent);
  if (!data) return;
  if (!plots.has(root)) plots.set(root, new Plot(root));
  plots.get(root).update({ data, setStateValue });
}
