// The tensor as flat pictures beside each other, x, x̂ and y: every example a row of maps, every channel a column of them.

const ACROSS = 36;
const DOWN = 32;
const MAP = 128; // cells that can be told apart, and of one map, which may be an image
const TALL = 130;
const APART = 8;
const GAP = 2; // pixels: of a picture, between pictures, between maps

// The part of an axis that is shown around an index.
const around = (i, n, most) => {
  const lo = Math.floor(i / most) * most;
  return [lo, Math.min(lo + most, n)];
};
const mix = (a, b, share) => a.map((v, i) => v + (b[i] - v) * share);
const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

export class Strip {
  constructor(root) {
    this.root = root;
    new ResizeObserver(() => this.index && this.width !== root.clientWidth && this.redraw()).observe(root);
  }

  take(data) {
    this.data = data;
    this.root.hidden = !data.pictures.length;
    const markup = data.pictures
      .map(
        ({ title }, k, all) => `<div><canvas role="img" aria-label="${title}, a flat picture"></canvas>
      <svg aria-hidden="true"><path class="field"/><path class="one"/></svg><span>${title}${k < all.length - 1 ? " →" : ""}</span></div>`,
      )
      .join("");
    if (this.markup !== markup) {
      this.markup = markup;
      this.root.innerHTML = `<div class="nv-pictures">${markup}</div><figcaption></figcaption>`;
    }
    this.shown = null;
  }

  redraw() {
    this.shown = null;
    this.mark(this.index);
  }

  // Mark an element and its field, in the part of the tensor in which it is.
  mark(index, lit = this.lit) {
    [this.index, this.lit] = [index, lit];
    if (!this.data.pictures.length) return;
    const { shape, roles } = this.data;
    const [n, h, w, c] = roles;
    const part = [];
    for (const axis of [h, w]) part[axis] = around(index[axis], shape[axis], MAP);
    const count = (axis) => part[axis][1] - part[axis][0];
    part[n] = around(index[n], shape[n], Math.max(1, Math.floor(DOWN / count(h))));
    part[c] = around(index[c], shape[c], Math.max(1, Math.floor(ACROSS / count(w))));
    if (this.shown !== part.join()) this.draw(part);
    const marks = [this.outline(this.boxOf(index)), this.outline(index.map((i) => [i, i + 1]))];
    for (const svg of this.root.querySelectorAll("svg"))
      for (const [k, path] of [...svg.children].entries()) path.setAttribute("d", marks[k]);
  }

  boxOf(index) {
    const { fields } = this.data;
    const field = fields.find(({ part }) => part === this.lit) ?? fields.at(-1);
    return index.map((i, axis) => field?.bounds[axis][i] ?? [i, i + 1]);
  }

  // The rectangles of a box, where maps that it holds whole run together.
  outline(box) {
    const { part, cell, gap } = this.place;
    const [n, h, w, c] = this.data.roles;
    const within = (axis) => box[axis].map((i) => Math.max(part[axis][0], Math.min(i, part[axis][1])) - part[axis][0]);
    const runs = (outer, inner) => {
      const length = (part[inner][1] - part[inner][0]) * cell;
      const step = length + gap;
      const [lo, hi] = within(outer);
      const [from, to] = within(inner).map((i) => i * cell);
      if (to - from === length) return [[lo * step, hi * step - gap]];
      return Array.from({ length: hi - lo }, (_, k) => [(lo + k) * step + from, (lo + k) * step + to]);
    };
    const across = runs(c, w);
    return runs(n, h)
      .flatMap(([top, bottom]) => across.map(([left, right]) => `M${left} ${top}H${right}V${bottom}H${left}Z`))
      .join("");
  }

  draw(part) {
    this.shown = part.join();
    this.width = this.root.clientWidth;
    const { roles, pictures, words, ranges, caption, shape } = this.data;
    const [n, h, w, c] = roles;
    const count = (axis) => part[axis][1] - part[axis][0];
    const gap = count(h) * count(w) > 1 ? GAP : 0;
    const wide = (this.width - APART * (pictures.length - 1)) / pictures.length;
    const fit = (room, maps, cells) => (room - gap * (maps - 1)) / (maps * cells);
    const cell = Math.min(fit(wide, count(c), count(w)), fit(TALL, count(n), count(h)), 16);
    this.place = { part, gap, cell: cell < 1 ? cell : Math.floor(cell) };
    const maps = [n, c].map((axis) => Array.from({ length: count(axis) }, (_, k) => part[axis][0] + k));
    const size = [
      [c, w],
      [n, h],
    ].map(([outer, inner]) => Math.ceil(count(outer) * (count(inner) * this.place.cell + gap) - gap));
    this.root.querySelectorAll("canvas").forEach((canvas, k) => {
      const density = Math.max(1, Math.round(window.devicePixelRatio));
      const surface = canvas.getContext("2d");
      [canvas.width, canvas.height] = size.map((pixels) => pixels * density);
      [canvas.style.width, canvas.style.height] = size.map((pixels) => `${pixels}px`);
      canvas.nextElementSibling.setAttribute("viewBox", `0 0 ${size.join(" ")}`);
      canvas.nextElementSibling.style.height = `${size[1]}px`;
      surface.imageSmoothingEnabled = false;
      for (const [down, i] of maps[0].entries())
        for (const [along, j] of maps[1].entries()) {
          const [width, height] = [w, h].map((axis) => count(axis) * this.place.cell);
          surface.drawImage(
            this.map(pictures[k], part, i, j),
            along * (width + gap) * density,
            down * (height + gap) * density,
            width * density,
            height * density,
          );
        }
    });
    const cut = [0, 1, 2, 3]
      .filter((axis) => count(axis) < shape[axis])
      .map((axis) =>
        ranges[axis][count(axis) > 1 ? 2 : 1].replace("{lo}", part[axis][0]).replace("{last}", part[axis][1] - 1),
      );
    const only = cut.length ? ` ${words.cut.replace("{}", cut.join(", "))}` : "";
    this.root.querySelector("figcaption").textContent = caption + only;
  }

  // One map of a picture, a pixel a cell.
  map({ name, largest }, part, i, j) {
    const { shape, roles, numbers, colours } = this.data;
    const [n, h, w, c] = roles;
    const { values } = numbers[name];
    const [low, middle, high, gaps] = ["low", "middle", "high", "gaps"].map((role) => rgb(colours[role]));
    const index = [];
    const step = (axis) => shape.slice(axis + 1).reduce((product, length) => product * length, 1);
    [index[n], index[c], index[h], index[w]] = [i, j, part[h][0], part[w][0]];
    const first = index.reduce((sum, at, axis) => sum + at * step(axis), 0);
    const canvas = new OffscreenCanvas(part[w][1] - part[w][0], part[h][1] - part[h][0]);
    const image = new ImageData(canvas.width, canvas.height);
    for (let row = 0; row < canvas.height; row++)
      for (let column = 0; column < canvas.width; column++) {
        const value = values[first + row * step(h) + column * step(w)];
        const share = Math.max(-1, Math.min(value / largest, 1));
        const colour = Number.isFinite(value) ? mix(middle, share < 0 ? low : high, Math.abs(share)) : gaps;
        image.data.set([...colour, 255], 4 * (row * canvas.width + column));
      }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }
}
