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

// The boxes that make up a field: an index range per axis -> [{origin, size}], with cells that touch merged.
function boxes({ offsets, order }, range) {
  let found = [{ origin: [0, 0, 0], size: [1, 1, 1] }];
  for (const axis of order) {
    const [lo, hi] = range[axis], grown = [];
    for (const box of found) {
      let run = null;
      for (let i = lo; i < hi; i++) {
        const step = run && [0, 1, 2].map((d) => offsets[axis][i][d] - offsets[axis][i - 1][d]);
        const d = step ? step.findIndex((v) => v !== 0) : -1;
        if (run && step.every((v, e) => v === (e === d ? box.size[d] : 0))) run.size[d] += box.size[d];
        else grown.push(run = { origin: box.origin.map((v, e) => v + offsets[axis][i][e]), size: [...box.size] });
      }
    }
    found = grown;
  }
  return found;
}

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, (n >> 2) & 1]);
const SIDES = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
const NORMALS = [2, 2, 1, 1, 0, 0];   // the axis that a side looks along
const EDGES = CORNERS.flatMap((_, n) => [1, 2, 4].filter((bit) => !(n & bit)).map((bit) => [n, n | bit]));

// Boxes of the first copy, where another one has them.
const along = (copy, found) => found.map(({ origin: [x, y, z], size }) => ({ origin: [x + copy.along, y, z], size }));

const POINT = [{ origin: [0, 0, 0], size: [0, 0, 0] }];
const corner = (n, e, size, swell) => (size[e] === 0 ? 0 : CORNERS[n][e] ? size[e] + swell : -swell);

function mesh(found, swell) {
  const m = { x: [], y: [], z: [], i: [], j: [], k: [] };
  for (const { origin, size } of found) {
    for (const side of SIDES) {
      const first = m.x.length;
      for (const n of side) ["x", "y", "z"].forEach((d, e) =>
        m[d].push(origin[e] + corner(n, e, size, swell)));
      m.i.push(first, first); m.j.push(first + 1, first + 2); m.k.push(first + 2, first + 3);
    }
  }
  return m;
}

// The outer faces of all cells, in every copy, as one mesh, and the cell behind each face of the first copy. Corners are
// not shared: each keeps the flat colour of its cell, and tells which one it belongs to.
function surface({ shape, offsets, copies }, levels) {
  const places = [0, 1, 2].map((d) => summed(shape, offsets.map((offset) => offset.map((at) => at[d]))));
  const extent = places.map((all) => all.reduce((most, at) => Math.max(most, at), 0) + 1);
  const steps = [extent[1] * extent[2], extent[2], 1], count = places[0].length;
  const taken = new Uint8Array(extent[0] * steps[0]);
  const at = places[0].map((x, cell) => x * steps[0] + places[1][cell] * steps[1] + places[2][cell]);
  at.forEach((place) => { taken[place] = 1; });

  const cells = [], sides = [];
  SIDES.forEach((side, number) => {
    const d = NORMALS[number], far = number % 2, border = far ? extent[d] - 1 : 0, step = far ? steps[d] : -steps[d];
    for (let cell = 0; cell < count; cell++) {
      if (places[d][cell] !== border && taken[at[cell] + step]) continue;
      cells.push(cell);
      sides.push(number);
    }
  });

  const faces = cells.length * copies.length;
  const [x, y, z, intensity] = [0, 0, 0, 0].map(() => new Float32Array(4 * faces));
  const [i, j, k] = [0, 0, 0].map(() => new Uint32Array(2 * faces));
  let face = 0;
  copies.forEach(({ along }, copy) => cells.forEach((cell, number) => {
    const first = 4 * face, triangle = 2 * face++;
    SIDES[sides[number]].forEach((n, nth) => {
      x[first + nth] = places[0][cell] + CORNERS[n][0] + along;
      y[first + nth] = places[1][cell] + CORNERS[n][1];
      z[first + nth] = places[2][cell] + CORNERS[n][2];
      intensity[first + nth] = levels[copy * count + cell];
    });
    i[triangle] = i[triangle + 1] = first;
    j[triangle] = first + 1;
    k[triangle] = j[triangle + 1] = first + 2;
    k[triangle + 1] = first + 3;
  }));
  return { cells, mesh: { x, y, z, i, j, k, intensity } };
}

// For every element the sum of one number an axis, elements in the order of the tensor.
function summed(shape, numbers) {
  let found = [0];
  numbers.forEach((along) => { found = found.flatMap((sum) => along.map((v) => sum + v)); });
  return Int32Array.from(found);
}

function lines(found, swell) {
  const m = { x: [], y: [], z: [] };
  for (const { origin, size } of found) for (const edge of EDGES) {
    for (const n of edge) ["x", "y", "z"].forEach((d, e) =>
      m[d].push(origin[e] + corner(n, e, size, swell)));
    for (const d of ["x", "y", "z"]) m[d].push(null);
  }
  return m;
}

const axesOf = (layout) => Object.keys(layout ?? {}).filter((key) => /^[xy]axis/.test(key)).sort().join();

class Plot {
  constructor(root) {
    this.root = root;
    this.graph = root.querySelector(".nv-graph");
    this.readout = root.querySelector(".nv-readout");
    this.live = root.querySelector(".nv-live");
    this.pending = [];                          // locks sent and not yet echoed by the server
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
    if (redraw) {
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
    if (hover) this.light(this.preview ?? this.lock);
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
    const { intensity } = traces.find(({ name }) => name === "cells"), { cells, mesh } = surface(this.hover, intensity);
    this.faces = cells;
    return mesh;
  }

  // The traces that show an element and its field, by name.
  highlight(index) {
    // In every copy; without a field a point, as Plotly would drop an empty trace from the scene.
    const field = (name) => this.hover.copies.flatMap((copy) => (copy[name]
      ? along(copy, boxes(this.hover, index.map((v, axis) => copy[name][axis][v]))) : POINT));
    const element = boxes(this.hover, index.map((v) => [v, v + 1])), bounds = field("bounds");
    const most = this.hover.framed * this.hover.copies.length;
    const frames = (found) => lines(found.length > most ? POINT : found, 0.04);
    return {
      field: mesh(this.hover.filled ? bounds : POINT, 0.03),
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
    const scene = this.graph._fullLayout.scene._scene, found = this.highlight(index);
    this.graph._fullData.filter((full) => found[full.name]).forEach((full) => {
      Object.assign(full, found[full.name]);
      Object.assign(this.graph.data[full.index], found[full.name]);
      const trace = scene.traces[full.uid];
      trace.update(full);
      // None of its parts is in the look-up picture of what can be picked, which need not be drawn again.
      for (const part of Object.values(trace)) if (part?.drawPick) part.dirty = false;
    });
    scene.glplot.redraw();
  }

  say(index) {
    const { shape, x, copies } = this.hover, { names, symbol, labels } = this.data;
    const flat = index.reduce((sum, v, axis) => sum * shape[axis] + v, 0);
    const show = (v) => (Number.isFinite(v) ? String(Number(v.toPrecision(4))).replace("-", "−") : String(v));
    this.readout.textContent = `${names.map((name, axis) => `${name} = ${index[axis]}`).join("  ")}    `
      + `${symbol} = ${show(x[flat])}  →  `
      + copies.map(({ xhat }, k) => `${labels[k] ?? `${symbol}̂`} = ${show(xhat[flat])}`).join("   ");
  }

  listen() {
    const graph = this.graph;
    let pressed = null;
    graph.tabIndex = 0;
    graph.on("plotly_hover", ({ points: [point] }) => {
      if (point.data.name !== "cells") return;
      const face = (point.pointNumber >> 2) % this.faces.length;  // of whichever copy
      this.preview = unravel(this.faces[face], this.hover.shape);
      this.light(this.preview);
    });
    graph.on("plotly_unhover", () => this.leave());
    graph.addEventListener("pointerleave", () => this.leave());
    graph.addEventListener("pointerdown", (e) => { pressed = [e.clientX, e.clientY]; }, true);
    graph.addEventListener("pointerup", (e) => {     // a click, not the end of a turn of the camera
      const still = pressed && Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) < 4;
      if (still && this.preview) this.fix(this.preview);
    }, true);
    graph.addEventListener("keydown", (e) => this.key(e));
  }

  leave() { this.preview = null; this.light(this.lock); }

  fix(index) {
    clearTimeout(this.timer);
    this.live.textContent = this.readout.textContent;
    if (same(index, this.lock)) return;
    this.lock = index;
    this.pending.push(index);
    this.setStateValue("focus", index);
  }

  // Arrows move along the picture's x and z, Page keys along its depth, Home and End from block to block.
  key(event) {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [2, -1], ArrowDown: [2, 1],
      PageUp: [1, -1], PageDown: [1, 1], Home: [3, -1], End: [3, 1] }[event.key];
    if (!move && event.key !== "Enter") return;
    event.preventDefault();
    if (!move) return this.fix(this.preview ?? this.lock);
    const index = [...(this.preview ?? this.lock)], { shape, dimensions } = this.hover;
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
