// A table of buttons: a cell has a verdict, marks in shape, word and colour, and a pair of curves. Redrawn in place; the
// arrow keys walk from cell to cell, and the focus stays where it is when the numbers change. Curves are drawn whole, and
// shown up to the step that the player is at: one length moves all of them.

import { latest } from "./data.js";
import { Player, still } from "./player.js";

const WHOLE = 8000; // ms in which the whole is played
const STEPS = 10; // in so many steps where motion is reduced
const SPEEDS = [0.5, 1, 2, 4];
const SHAPES = {
  yes: '<circle cx="8" cy="8" r="8" fill="currentColor"/><path d="M4 8.4l2.8 2.8L12 5.4" fill="none" stroke="#fff" stroke-width="2.2"/>',
  no: '<path d="M1 1h14v14H1z" fill="none" stroke="currentColor" stroke-width="2"/><path d="M4.5 4.5l7 7m0-7l-7 7" stroke="currentColor" stroke-width="2.2"/>',
  fades:
    '<circle cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="2"/><path d="M8 1a7 7 0 0 1 0 14z" fill="currentColor"/>',
  none: '<path d="M2 8h12" stroke="currentColor" stroke-width="2.4"/>',
  wait: '<circle cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="2.2 3.3"/>',
};
const WIDTH = 100;
const HEIGHT = 30; // of a pair of curves, in units of its own
const FLOOR = 17; // powers of ten from the bottom of its gap to a gap of 1, its top
const grids = new WeakMap();

const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const shape = (answer) => `<svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[answer]}</svg>`;

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

// As `gap_text` of describe/wording.py.
function gapText(gap) {
  if (Number.isNaN(gap)) return "";
  if (gap === Infinity) return "∞";
  if (gap >= 0.01 && gap < 1e4) return gap < 99.5 ? String(Number(gap.toPrecision(2))) : gap.toFixed(0);
  const [mantissa, exponent] = gap.toExponential(0).split("e").map(Number);
  if (exponent >= -4 && exponent <= 0) return String(Number(gap.toPrecision(1)));
  const power = `10${[...String(exponent)].map((letter) => RAISED[letter]).join("")}`;
  return mantissa === 1 ? power : `${mantissa}·${power}`;
}

function mark({ answer, name, value, counts }) {
  const row = make("span", { className: `mark ${answer}${counts ? " counts" : ""}` });
  row.innerHTML = shape(answer) + (counts ? shape("wait") : ""); // the second one while it is played
  row.append(make("span", { textContent: name }), make("b", { textContent: value ?? "" }));
  return row;
}

export function button(cell, open) {
  const node = make("button", { type: "button", title: cell.title });
  node.dataset.cell = cell.key;
  node.setAttribute("aria-label", cell.title);
  node.setAttribute("aria-pressed", String(cell.key === open));
  node.className = [cell.answer, cell.paper && "paper", cell.alert && "alert", cell.covered && "covered"]
    .filter(Boolean)
    .join(" ");
  if (cell.covered) node.append(make("span", { textContent: "?" }));
  else {
    node.append(make("strong", { textContent: cell.word }), ...cell.marks.map(mark));
    if (cell.note) node.append(make("span", { className: "note", textContent: cell.note }));
  }
  return node;
}

// The path of a curve over its steps, its range from top to bottom on a logarithmic scale; broken where it is not finite.
export function path(values, { at, steps }, [low, high]) {
  let line = "";
  let pen = "M";
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) {
      pen = "M";
      return;
    }
    const share = Math.log(Math.max(value, low / 4) / low) / Math.log(high / low);
    const down = HEIGHT * (1 - Math.min(share, 1.5)); // what grows beyond its range leaves the picture
    line += `${pen}${((WIDTH * at[i]) / steps).toFixed(1)} ${down.toFixed(2)}`;
    pen = "L";
  });
  return line;
}

// The area below the largest gap so far: of the type's rounding at the bottom, of the size of the loss itself at the top.
function area(gaps, { at, steps }) {
  const share = (gap) => Math.min(Math.max(1 + Math.log10(gap) / FLOOR, 0), 1);
  const points = Array.from(
    gaps,
    (gap, i) => `${((WIDTH * at[i]) / steps).toFixed(1)} ${(HEIGHT * (1 - share(gap))).toFixed(2)}`,
  ).filter((_, i) => !Number.isNaN(gaps[i]));
  if (!points.length) return "";
  const [[start], [end]] = [points[0], points.at(-1)].map((point) => point.split(" "));
  return `M${start} ${HEIGHT}L${points.join("L")}L${end} ${HEIGHT}Z`;
}

// Where an original's curve lies: its least and its largest loss, and some room.
function range(values) {
  const finite = values.filter((value) => Number.isFinite(value) && value > 0);
  if (!finite.length) return [0.5, 2];
  const high = finite.reduce((a, b) => Math.max(a, b)) * 1.2;
  return [Math.max(finite.reduce((a, b) => Math.min(a, b)) / 1.2, high / 1e4), high];
}

const LINE = { gap: "M1 10V7L8 5L27 1V10Z" }; // in the legend; others are level

function legend(parts) {
  return parts.map(({ mark, line, frame, text }) => {
    const item = make("span");
    const icon = make("i", { className: frame ? `frame ${frame}` : mark === "yes" || mark === "no" ? mark : "" });
    if (mark) icon.innerHTML = shape(mark);
    if (line)
      icon.innerHTML = `<svg viewBox="0 0 28 10" aria-hidden="true"><path class="${line}" d="${LINE[line] ?? "M1 5h26"}"/></svg>`;
    item.append(icon, text);
    return item;
  });
}

class Training extends Player {
  constructor(root) {
    super();
    [this.root, this.output] = [root, make("output")];
    this.build(root.querySelector(".nv-bar"), "Watch the networks train", "Step", 1);
    this.speed = make(
      "select",
      { ariaLabel: "Speed" },
      ...SPEEDS.map((speed) => make("option", { value: speed, textContent: `${speed} ×`, selected: speed === 1 })),
    );
    this.parts.bar.append(this.output, this.speed);
  }

  get last() {
    return this.played.at.at(-1) ?? 0;
  }

  // What has been trained since: at the end it stays there, elsewhere where it is.
  take(played) {
    const ended = !this.played || this.position >= this.last;
    this.played = played;
    this.position = ended ? this.last : Math.min(this.position, this.last);
    this.waited = 0;
  }

  next(position, passed) {
    const by = (this.last * Number(this.speed.value) * passed) / WHOLE;
    if (!still.matches) return Math.min(position + by, this.last);
    this.waited += by;
    if (this.waited < this.last / STEPS) return position;
    this.waited = 0;
    return Math.min(Math.floor(position) + Math.max(Math.round(this.last / STEPS), 1), this.last);
  }

  // Every curve and number up to a step; those of the last one are as the server says them.
  show(position) {
    const { played, root } = this;
    const over = position >= this.last;
    const step = Math.floor(position);
    const i = played.at.findLastIndex((at) => at <= step);
    const hidden = over ? 0 : 1 - position / played.steps;
    root.style.setProperty("--hidden", `${100 * hidden}%`);
    root.classList.toggle("midway", !over);
    for (const { text, last, gaps } of this.counters) {
      const now = over ? last : i < 0 ? "" : gapText(gaps[i]);
      if (text.textContent !== now) text.textContent = now;
    }
  }

  tell() {
    const says = `step ${Math.floor(this.position)} of ${this.played.steps}`;
    this.output.textContent = says;
    super.tell("Watch it train", says, this.position >= this.last);
    for (const part of [this.parts.play, this.parts.input]) part.disabled = !this.last;
    this.parts.bar.style.visibility = this.played.cells.length ? "" : "hidden"; // all cells may be covered
  }
}

// The pair of curves of every cell, and the numbers that count with them.
function pairs(root, { bases, twins, gaps, cells, rows, roles, ...played }) {
  const ranges = bases.map(range);
  const originals = bases.map((values, row) => path(values, played, ranges[row]));
  return cells.map((key, k) => {
    const node = root.querySelector(`[data-cell="${CSS.escape(key)}"]`);
    const text = node.querySelector(".counts b");
    const curves = make("i", { className: "curves" });
    curves.innerHTML = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
      <path class="gap" d="${area(gaps[k], played)}"/><path class="original" d="${originals[rows[k]]}"/>
      <path class="${roles[k]}" d="${path(twins[k], played, ranges[rows[k]])}"/></svg>`;
    node.append(curves);
    return { text, last: text.textContent, gaps: gaps[k] };
  });
}

function draw(root, data, training) {
  const held = root.getRootNode().activeElement?.dataset.cell;
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", textContent: data.corner }),
    ...data.columns.map(({ name, change }) =>
      make("th", { scope: "col" }, name, make("small", { textContent: change })),
    ),
  );
  const rows = data.rows.map((row) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, row.name, make("small", { textContent: row.note })),
      ...row.cells.map((cell) => make("td", {}, button(cell, data.open))),
    ),
  );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  table.setAttribute("aria-label", data.label);
  for (const [role, colour] of Object.entries(data.colours)) root.style.setProperty(`--${role}`, colour);
  root.querySelector(".nv-scroll").replaceChildren(table);
  root.querySelector(".nv-legend").replaceChildren(...legend(data.legend));
  training.take(data.played);
  training.counters = pairs(root, data.played);
  training.tell();
  training.show(training.position);
  if (held) root.querySelector(`[data-cell="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  root.dataset.drawn = Number(root.dataset.drawn ?? 0) + 1;
}

// Where an opened cell is shown out of sight, as on a phone, it is gone to, and a button leads back.
function goTo(root, back, opens) {
  const target = document.querySelector(`.st-key-${opens}`);
  const smooth = { behavior: still.matches ? "auto" : "smooth" };
  if (!target || target.getBoundingClientRect().top < innerHeight * 0.7) return;
  target.scrollIntoView({ block: "start", ...smooth });
  back.onclick = () => {
    const cell = root.querySelector('[aria-pressed="true"]');
    root.scrollIntoView({ block: "start", ...smooth });
    cell?.focus({ preventScroll: true });
    back.hidden = true;
  };
  back.hidden = false;
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-grid");
  const data = latest(root, sent);
  if (!data) return;
  if (!grids.has(root)) grids.set(root, new Training(root));
  const scroll = root.querySelector(".nv-scroll");
  const back = parentElement.querySelector(".nv-back");
  scroll.onclick = (event) => {
    const cell = event.target.closest("button")?.dataset.cell;
    if (!cell) return;
    setStateValue("open", cell);
    goTo(root, back, data.opens);
  };
  scroll.onkeydown = (event) => {
    const move = MOVES[event.key];
    const td = event.target.closest("td");
    if (!move || !td) return;
    event.preventDefault();
    const { rows } = root.querySelector("tbody");
    const row = rows[td.parentElement.sectionRowIndex + move[0]];
    row?.cells[td.cellIndex + move[1]]?.querySelector("button")?.focus();
  };
  root.ontransitionend = (event) => {
    // the theme changed: the server has the colours
    if (event.target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  draw(root, data, grids.get(root));
}
