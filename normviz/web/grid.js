// A table of buttons: pictograms above, an answer in sign, word and colour in each cell. Redrawn in place. It is one stop
// of the Tab key: the arrow keys walk from cell to cell, and the focus stays where it is when the answers change.

import { latest } from "./data.js";
import { closest, countDrawing, find, focusOn, make, readFocused } from "./dom.js";
import { still } from "./player.js";

/** @import {Given} from "./component.d.ts" */

/** @typedef {"yes" | "no" | "fades" | "none"} Answer */

/**
 * What `grid_data` of normviz/table1/grid.py sends.
 *
 * @typedef {object} GridData
 * @property {string} label of the table
 * @property {Record<string, string>} colours by role
 * @property {string} open key of the open cell
 * @property {string} shows key of the element of the page that shows the open cell
 * @property {boolean} small whether the table stands back
 * @property {Column[]} columns
 * @property {{name: string, note: string, cells: Cell[]}[]} rows
 */

/** @typedef {{on: "weights" | "data", one: boolean, sign: string, name: string}} Column `one`: only one is changed */

/** @typedef {CoveredCell | AnsweredCell} Cell */

/** @typedef {{key: string, title: string, covered: true}} CoveredCell */

/**
 * @typedef {object} AnsweredCell
 * @property {string} key
 * @property {string} title
 * @property {false} covered
 * @property {boolean} alert whether its answers disagree
 * @property {Answer} answer
 * @property {string} sign
 * @property {string} word
 */

const MOVES = new Map(Object.entries({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }));

/**
 * Return the pictogram of a change: three columns of weights or four images, the changed ones filled.
 *
 * @param {Column} column
 */
function drawPictogram({ on, one }) {
  const shapes = on === "weights" ? 3 : 4;
  const drawn = Array.from({ length: shapes }, (_, k) => {
    const name = one && k !== 1 ? "kept" : "changed";
    if (on === "weights") return `<rect class="${name}" x="${3 + 11 * k}" y="2" width="8" height="26"/>`;
    return `<circle class="${name}" cx="${11 + 14 * (k % 2)}" cy="${8 + 14 * Math.floor(k / 2)}" r="5.5"/>`;
  });
  return `<svg viewBox="0 0 36 30" aria-hidden="true">${drawn.join("")}</svg>`;
}

/**
 * @param {Cell} cell
 * @param {string} open key of the open cell
 */
function makeButton(cell, open) {
  const isOpen = cell.key === open;
  const node = make("button", { type: "button", title: cell.title, tabIndex: isOpen ? 0 : -1 });
  node.dataset.cell = cell.key;
  node.setAttribute("aria-label", cell.title);
  node.setAttribute("aria-pressed", String(isOpen));
  node.classList.add(cell.covered ? "covered" : cell.answer);
  if (cell.covered) node.append(make("b", { textContent: "?" }));
  else {
    if (cell.alert) node.classList.add("alert");
    node.append(make("b", { textContent: cell.sign }), make("span", { textContent: cell.word }));
  }
  return node;
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

/** @param {GridData} data */
function makeTable({ label, columns, rows, open }) {
  const head = columns.map((column) => {
    const picture = make("i", { innerHTML: drawPictogram(column) });
    const sign = make("b", { textContent: column.sign });
    return make("th", { scope: "col" }, picture, sign, make("small", { textContent: column.name }));
  });
  const body = rows.map(({ name, note, cells }) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, name, make("small", { textContent: note })),
      ...cells.map((cell) => make("td", {}, makeButton(cell, open))),
    ),
  );
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...head)), make("tbody", {}, ...body));
  table.setAttribute("aria-label", label);
  return table;
}

/**
 * @param {HTMLElement} root
 * @param {GridData} data
 */
function draw(root, data) {
  const focused = readFocused(root, "cell");
  for (const [role, colour] of Object.entries(data.colours)) root.style.setProperty(`--${role}`, colour);
  root.classList.toggle("small", data.small);
  root.replaceChildren(makeTable(data));
  if (focused) focusOn(root, selectCell(focused));
  countDrawing(root);
}

/**
 * Scroll to the open case where it is out of sight, as above the table on a phone.
 *
 * @param {string} shows
 */
function goToCase(shows) {
  const target = document.querySelector(`.st-key-${shows}`);
  if (target && target.getBoundingClientRect().top < 0)
    target.scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-grid", HTMLElement);
  /** @type {GridData | null} */
  const data = latest(root, sent);
  if (!data) return;
  root.onclick = (event) => {
    const cell = closest(event, "button")?.dataset.cell;
    if (!cell) return;
    setStateValue("open", cell);
    goToCase(data.shows);
  };
  root.onkeydown = (event) => {
    const cell = closest(event, "button")?.dataset.cell;
    if (!cell || !MOVES.has(event.key)) return;
    event.preventDefault();
    const next = findNeighbour(data.rows, cell, event.key);
    if (next) find(root, selectCell(next), HTMLElement).focus();
  };
  root.ontransitionend = ({ target }) => {
    // the theme changed: the server has the colours
    if (target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  draw(root, data);
}
