// A table of buttons: a cell has a verdict, marks in shape, word and colour, and a pair of curves. Redrawn in place; the
// arrow keys walk from cell to cell, and the focus stays where it is when the numbers change. Curves are drawn whole, and
// shown up to the step that the player is at: one length moves all of them.

import { drawCurve, drawGaps, HEIGHT, rangeOf, WIDTH, writeGap } from "./curves.js";
import { latest } from "./data.js";
import { closest, countDrawing, find, focusOn, make, readFocused } from "./dom.js";
import { Player, still } from "./player.js";

/** @import {Given, Numbers} from "./component.d.ts" */

/** @typedef {"yes" | "no" | "fades" | "none" | "wait"} Answer */

/**
 * What `grid_data` of normviz/table1/grid.py sends.
 *
 * @typedef {object} GridData
 * @property {string} label of the table
 * @property {string} corner
 * @property {Record<string, string>} colours by role
 * @property {string} open key of the open cell
 * @property {string} opens key of the element of the page that shows the open cell
 * @property {{name: string, change: string}[]} columns
 * @property {{name: string, note: string, cells: Cell[]}[]} rows
 * @property {LegendPart[]} legend
 * @property {Played} played
 */

/** @typedef {CoveredCell | AnsweredCell} Cell */

/** @typedef {{key: string, title: string, covered: true, paper: boolean}} CoveredCell */

/**
 * @typedef {object} AnsweredCell
 * @property {string} key
 * @property {string} title
 * @property {false} covered
 * @property {boolean} paper whether the paper has it
 * @property {boolean} alert whether its answers disagree
 * @property {Answer} answer
 * @property {string} word
 * @property {Mark[]} marks
 * @property {string} note
 */

/** @typedef {{answer: Answer, name: string, value: string, counts?: boolean}} Mark `counts`: while it is played */

/** @typedef {{text: string, mark?: Answer, line?: string, frame?: string}} LegendPart */

/**
 * What `playback` of normviz/table1/playback.py returns: losses of the rows' networks and of the cells' twins.
 *
 * @typedef {object} Played
 * @property {number} steps of a whole training
 * @property {Numbers} at the steps that are sent, counted from 1
 * @property {Numbers[]} bases losses of the original network, of each row
 * @property {string[]} cells keys of the cells with curves
 * @property {number[]} rows the row of each of these cells
 * @property {string[]} roles of the twin of each cell
 * @property {Numbers[]} twins losses of the twin of each cell
 * @property {Numbers[]} gaps the largest gap up to each step, of each cell
 */

/** @typedef {{text: HTMLElement, last: string, gaps: Numbers}} Counter a number that counts, and how it ends */

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
const LINES = { gap: "M1 10V7L8 5L27 1V10Z", level: "M1 5h26" }; // in the legend
const MOVES = new Map(Object.entries({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }));
/** @type {WeakMap<HTMLElement, Training>} */
const grids = new WeakMap();

/** @param {Answer} answer */
const drawShape = (answer) => `<svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[answer]}</svg>`;

/** @param {Mark} mark */
function makeMark({ answer, name, value, counts }) {
  const row = make("span", { className: `mark ${answer}${counts ? " counts" : ""}` });
  row.innerHTML = drawShape(answer) + (counts ? drawShape("wait") : ""); // the second one while it is played
  row.append(make("span", { textContent: name }), make("b", { textContent: value }));
  return row;
}

/**
 * @param {Cell} cell
 * @param {string} open key of the open cell
 */
function makeButton(cell, open) {
  const node = make("button", { type: "button", title: cell.title });
  node.dataset.cell = cell.key;
  node.setAttribute("aria-label", cell.title);
  node.setAttribute("aria-pressed", String(cell.key === open));
  if (cell.paper) node.classList.add("paper");
  if (cell.covered) {
    node.classList.add("covered");
    node.append(make("span", { textContent: "?" }));
  } else {
    node.classList.add(cell.answer);
    if (cell.alert) node.classList.add("alert");
    node.append(make("strong", { textContent: cell.word }), ...cell.marks.map(makeMark));
    if (cell.note) node.append(make("span", { className: "note", textContent: cell.note }));
  }
  return node;
}

/** @param {LegendPart} part */
function makeLegendPart({ mark, line, frame, text }) {
  const icon = make("i", { className: frame ? `frame ${frame}` : mark === "yes" || mark === "no" ? mark : "" });
  if (mark) icon.innerHTML = drawShape(mark);
  if (line) {
    const path = line === "gap" ? LINES.gap : LINES.level;
    icon.innerHTML = `<svg viewBox="0 0 28 10" aria-hidden="true"><path class="${line}" d="${path}"/></svg>`;
  }
  return make("span", {}, icon, text);
}

/**
 * Return the key of the cell that an arrow key leads to from another cell; undefined where there is none.
 *
 * @param {GridData["rows"]} rows
 * @param {string} key
 * @param {string} arrow
 */
export function findNeighbour(rows, key, arrow) {
  const [down, right] = MOVES.get(arrow) ?? [0, 0];
  const row = rows.findIndex(({ cells }) => cells.some((cell) => cell.key === key));
  const column = rows[row]?.cells.findIndex((cell) => cell.key === key);
  return rows[row + down]?.cells[column + right]?.key;
}

/** @param {string} key */
const selectCell = (key) => `[data-cell="${CSS.escape(key)}"]`;

/** Plays the training of all networks in the cells of a grid. */
class Training extends Player {
  /** @type {Counter[]} */
  counters = [];
  waited = 0; // ms since the last step, where motion is reduced

  /**
   * @param {HTMLElement} root
   * @param {Played} played
   */
  constructor(root, played) {
    super();
    this.root = root;
    this.played = played;
    this.build(find(root, ".nv-bar", HTMLElement), "Watch the networks train", "Step", 1);
    this.output = make("output");
    this.speed = make("select", { ariaLabel: "Speed" }, ...SPEEDS.map((speed) => new Option(`${speed} ×`, `${speed}`)));
    this.speed.value = "1";
    this.parts.bar.append(this.output, this.speed);
  }

  get last() {
    const { at } = this.played;
    return at[at.length - 1] ?? 0;
  }

  /**
   * Replace the losses; a player at its end stays there, another one where it is.
   *
   * @param {Played} played
   */
  take(played) {
    const ended = this.position === null || this.position >= this.last;
    this.played = played;
    this.place(ended ? this.last : Math.min(this.position ?? 0, this.last));
    this.waited = 0;
  }

  /**
   * @param {number} position
   * @param {number} passed
   */
  next(position, passed) {
    const by = (this.last * Number(this.speed.value) * passed) / WHOLE;
    if (!still.matches) return Math.min(position + by, this.last);
    this.waited += by;
    if (this.waited < this.last / STEPS) return position;
    this.waited = 0;
    return Math.min(Math.floor(position) + Math.max(Math.round(this.last / STEPS), 1), this.last);
  }

  /**
   * Show every curve and number up to a step; those of the last one are as the server says them.
   *
   * @param {number} position
   */
  show(position) {
    const { played, root } = this;
    const over = position >= this.last;
    const step = Math.floor(position);
    const i = [...played.at].findLastIndex((at) => at <= step);
    const hidden = over ? 0 : 1 - position / played.steps;
    root.style.setProperty("--hidden", `${100 * hidden}%`);
    root.classList.toggle("midway", !over);
    for (const { text, last, gaps } of this.counters) {
      const now = over ? last : i < 0 ? "" : writeGap(gaps[i]);
      if (text.textContent !== now) text.textContent = now;
    }
  }

  tell() {
    const position = this.position ?? 0;
    const says = `step ${Math.floor(position)} of ${this.played.steps}`;
    this.output.textContent = says;
    super.tell("Watch it train", says, position >= this.last);
    for (const part of [this.parts.play, this.parts.input]) part.disabled = !this.last;
    this.parts.bar.style.visibility = this.played.cells.length ? "" : "hidden"; // all cells may be covered
  }
}

/**
 * Draw the pair of curves of every cell, and return the numbers that count with them.
 *
 * @param {HTMLElement} root
 * @param {Played} played
 * @returns {Counter[]}
 */
function drawPairs(root, played) {
  const { bases, twins, gaps, cells, rows, roles } = played;
  const ranges = bases.map(rangeOf);
  const originals = bases.map((losses, row) => drawCurve(losses, played, ranges[row]));
  return cells.map((key, k) => {
    const cell = find(root, selectCell(key), HTMLElement);
    const text = find(cell, ".counts b", HTMLElement);
    const curves = make("i", { className: "curves" });
    curves.innerHTML = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">
      <path class="gap" d="${drawGaps(gaps[k], played)}"/><path class="original" d="${originals[rows[k]]}"/>
      <path class="${roles[k]}" d="${drawCurve(twins[k], played, ranges[rows[k]])}"/></svg>`;
    cell.append(curves);
    return { text, last: text.textContent ?? "", gaps: gaps[k] };
  });
}

/** @param {GridData} data */
function makeTable({ label, corner, columns, rows, open }) {
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", textContent: corner }),
    ...columns.map(({ name, change }) => make("th", { scope: "col" }, name, make("small", { textContent: change }))),
  );
  const body = rows.map(({ name, note, cells }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name, make("small", { textContent: note })),
      ...cells.map((cell) => make("td", {}, makeButton(cell, open))),
    ),
  );
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  table.setAttribute("aria-label", label);
  return table;
}

/**
 * @param {HTMLElement} root
 * @param {GridData} data
 * @param {Training} training
 */
function draw(root, data, training) {
  const focused = readFocused(root, "cell");
  for (const [role, colour] of Object.entries(data.colours)) root.style.setProperty(`--${role}`, colour);
  find(root, ".nv-scroll", HTMLElement).replaceChildren(makeTable(data));
  find(root, ".nv-legend", HTMLElement).replaceChildren(...data.legend.map(makeLegendPart));
  training.take(data.played);
  training.counters = drawPairs(root, data.played);
  training.tell();
  training.show(training.position ?? 0);
  if (focused) focusOn(root, selectCell(focused));
  countDrawing(root);
}

/**
 * Scroll to the open cell where it is shown out of sight, as on a phone, and show a button that leads back.
 *
 * @param {HTMLElement} root
 * @param {HTMLElement} back
 * @param {string} opens
 */
function goToOpened(root, back, opens) {
  const target = document.querySelector(`.st-key-${opens}`);
  /** @type {ScrollIntoViewOptions} */
  const smooth = { block: "start", behavior: still.matches ? "auto" : "smooth" };
  if (!target || target.getBoundingClientRect().top < innerHeight * 0.7) return;
  target.scrollIntoView(smooth);
  back.onclick = () => {
    root.scrollIntoView(smooth);
    focusOn(root, '[aria-pressed="true"]');
    back.hidden = true;
  };
  back.hidden = false;
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-grid", HTMLElement);
  /** @type {GridData | null} */
  const data = latest(root, sent);
  if (!data) return;
  const training = grids.get(root) ?? new Training(root, data.played);
  grids.set(root, training);
  const scroll = find(root, ".nv-scroll", HTMLElement);
  const back = find(parentElement, ".nv-back", HTMLElement);
  scroll.onclick = (event) => {
    const cell = closest(event, "button")?.dataset.cell;
    if (!cell) return;
    setStateValue("open", cell);
    goToOpened(root, back, data.opens);
  };
  scroll.onkeydown = (event) => {
    const cell = closest(event, "button")?.dataset.cell;
    if (!cell || !MOVES.has(event.key)) return;
    event.preventDefault();
    const next = findNeighbour(data.rows, cell, event.key);
    if (next) find(scroll, selectCell(next), HTMLElement).focus();
  };
  root.ontransitionend = ({ target }) => {
    // the theme changed: the server has the colours
    if (target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  draw(root, data, training);
}
