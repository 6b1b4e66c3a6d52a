// What a scheme does to the tensor, played stage by stage in the cube itself: cells move to where their stage has them,
// and take its colours. The position is a number of stages, with what is between two of them behind the point.

import { label, Player, still } from "./player.js";

const MOVE = 1100;
const REST = 1500; // ms from stage to stage, and at each
const ROLES = { centred: "mean", normalized: "divides" }; // what a formula is about
const between = (a, b, share) => a + (b - a) * share;

// Where cells are, and their levels, at a position; `places`: offsets and sizes by the number of the place.
export function staged({ stages: { list, looks, band }, places }, position) {
  const from = list[Math.floor(position)];
  const to = list[Math.min(Math.floor(position) + 1, list.length - 1)];
  const part = position - Math.floor(position);
  const share = part * part * (3 - 2 * part);
  const [a, b] = [places[from.place], places[to.place]];
  const offsets =
    a === b
      ? a.offsets
      : a.offsets.map((offset, axis) =>
          offset.map((at, i) => [0, 1, 2].map((d) => between(at[d], b.offsets[axis][i][d], share))),
        );
  const levels = new Float32Array(from.values.length);
  const done = to.slides && part > 0 ? part * levels.length : null;
  const level = (value, { largest }) =>
    Number.isFinite(value) ? ((value / largest + 1) / 2) * (255 - band) + band : 0;
  for (let cell = 0; cell < levels.length; cell++) {
    const [before, after] = [level(from.values[cell], looks[from.look]), level(to.values[cell], looks[to.look])];
    levels[cell] = done === null ? between(before, after, share) : cell < done ? after : before;
  }
  const size = [0, 1, 2].map((d) => between(a.size[d], b.size[d], share));
  const still = a === b && a === places[0];
  const collapsed = part === 0 && from.place; // the number of the place, or 0
  return {
    offsets,
    size,
    levels,
    look: looks[(part > 0 ? to : from).look].trace,
    sliding: done && Math.floor(done),
    still,
    collapsed,
    role: ROLES[list[Math.ceil(position)].line],
  };
}

export class Stages extends Player {
  // In `board` stands in large letters what is done along each axis. `show` is called with a position, or null for the picture as it is otherwise.
  constructor(root, board, show) {
    super();
    this.root = root;
    this.board = board;
    this.show = show;
  }

  fill() {
    this.root.innerHTML = '<p aria-live="polite"></p><div></div>';
    const [p, bar] = this.root.children;
    const close = document.createElement("button");
    this.build(bar, "Watch it happen", "Stage", 0.05);
    bar.append(close);
    Object.assign(this.parts, { p, close });
    close.type = "button";
    close.onclick = () => this.go(null);
    label(close, "close", "Close", "Close");
  }

  // Other stages than before: the position stays as far as there is one. `why` there are none; `cube`: shape, axes, hues.
  take(stages, why, cube) {
    Object.assign(this, { stages, cube });
    this.root.hidden = !stages && !why;
    if (this.root.hidden && !this.parts) return;
    if (!this.parts) this.fill();
    this.parts.bar.hidden = !stages;
    if (!stages) {
      this.pause();
      this.position = null;
      this.parts.p.textContent = why ?? "";
      this.light();
      this.write(null);
      return;
    }
    if (this.position !== null) this.position = Math.min(this.position, this.last);
    this.tell();
  }

  get last() {
    return this.stages.list.length - 1;
  }

  play() {
    this.rest = REST;
    super.play();
  }

  next(position, passed) {
    if (this.rest > 0) {
      this.rest -= passed;
      return position;
    }
    const end = Math.floor(position) + 1;
    const next = still.matches ? end : Math.min(position + passed / MOVE, end);
    if (next === end) this.rest = REST;
    return next;
  }

  // The sentence of what is reached or on its way, the buttons, and the formula that says the same.
  tell() {
    const { p, close } = this.parts;
    const on = this.position !== null;
    const stage = on ? this.stages.list[Math.ceil(this.position)] : null;
    const gathers = this.stages.list.some(({ place, slides }) => place || slides);
    const start = gathers
      ? "the tensor collapses to its statistics, and comes back normalized"
      : "every element stays in its place";
    const text = on
      ? `${Math.ceil(this.position) + 1} / ${this.last + 1}  ${stage.says}`
      : `See how it is computed: ${start}.`;
    if (p.textContent !== text) p.textContent = text;
    super.tell("Watch it happen", stage?.says ?? "");
    close.hidden = !on;
    this.root.classList.toggle("nv-on", on);
    this.light(stage?.line);
    this.write(stage);
  }

  // The lengths of the axes, and what becomes of them: "N 4 → 1 averaged".
  write(stage) {
    const { shape, axes, hues } = this.cube;
    const back = stage && !stage.place && !stage.slides;
    const chips =
      stage &&
      shape.map((n, axis) => {
        const [count, done] = stage.axes[axis] ?? [n, ""];
        const changes = count !== n && !stage.slides;
        const lengths = changes ? (back ? [count, n] : [n, count]) : [n];
        return `<span class="${["", "kept"].includes(done) ? "" : "nv-less"}"><b>${axes[axis]} ${lengths.join(" → ")}</b>${done}</span>`;
      });
    const html = chips ? chips.join("") : "";
    if (html === this.written) return;
    this.written = this.board.innerHTML = html;
    if (stage?.axes.length) this.board.style.setProperty("--nv-role", hues()[ROLES[stage.line]]);
  }

  light(line) {
    for (const formula of document.querySelectorAll('[class*="st-key-line-"]')) {
      formula.classList.toggle("nv-lit", Boolean(line) && formula.classList.contains(`st-key-line-${line}`));
    }
  }
}
