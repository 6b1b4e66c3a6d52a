// A table of buttons: pictograms above, an answer in sign, word and colour in each cell. Redrawn in place. It is one stop
// of the Tab key: the arrow keys walk from cell to cell, and the focus stays where it is when the answers change.

import { readLatest } from "./data.js";
import { countDrawing, find, findClosest, focusOn, makeElement, readFocused } from "./dom.js";
import { reducedMotion } from "./player.js";

/** @import {Given} from "./component.d.ts" */

/** @typedef {"yes" | "no" | "fades" | "none"} Answer */

/**
 * What `grid_data` of normviz/topics/table1/grid.py sends.
 * @typedef {object} GridData
 * @property {string} label of the table
 * @property {Record<string, string>} colours by role
 * @property {string} open key of the open cell
 * @property {string} shows key of the element of the page that shows the open cell
 * @property {boolean} small whether the table stands back
 * @property {Record<string, string>} groups the heads above the columns, by what these change
 * @property {Column[]} columns
 * @property {{name: string, note: string, cells: Cell[]}[]} rows
 */

/**
 * `one`: only one is changed; `added`: something is added to it.
 * @typedef {{on: "weights" | "data", one: boolean, added: boolean, sign: string, name: string}} Column
 */

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
 * Return the pictogram of a change: bars of weights or square images, filled where multiplied, with a plus where noise
 * is added.
 * @param {Column} column
 */
function drawPictogram({ on, one, added }) {
  const [width, height] = on === "weights" ? [8, 26] : [12, 12];
  const places = on === "weights" ? [3, 14, 25].map((x) => [x, 2]) : [3, 17].flatMap((y) => [5, 19].map((x) => [x, y]));
  const drawn = places.map(([x, y], k) => {
    const plus = `M${x + width / 2 - 3} ${y + height / 2}h6m-3 -3v6`;
    const noise = added ? `<path class="noise" d="${plus}"/>` : "";
    const name = added || (one && k !== 1) ? "kept" : "changed";
    return `<rect class="${name}" x="${x}" y="${y}" width="${width}" height="${height}"/>${noise}`;
  });
  return `<svg viewBox="0 0 36 30" aria-hidden="true">${drawn.join("")}</svg>`;
}

/**
 * @param {Cell} cell
 * @param {string} open key of the open cell
 */
function makeButton(cell, open) {
  const isOpen = cell.key === open;
  const node = makeElement("button", { type: "button", title: cell.title, tabIndex: isOpen ? 0 : -1 });
  node.dataset.cell = cell.key;
  node.setAttribute("aria-label", cell.title);
  node.setAttribute("aria-pressed", String(isOpen));
  node.classList.add(cell.covered ? "covered" : cell.answer);
  if (cell.covered) node.append(makeElement("b", { textContent: "?" }));
  else {
    if (cell.alert) node.classList.add("alert");
    node.append(makeElement("b", { textContent: cell.sign }), makeElement("span", { textContent: cell.word }));
  }
  return node;
}

/**
 * Return the key of the neighbour of a cell in the direction of an arrow key, or undefined.
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
function makeTable({ label, groups, columns, rows, open }) {
  const above = Object.entries(groups).map(([on, textContent]) =>
    makeElement("th", { scope: "colgroup", colSpan: columns.filter((column) => column.on === on).length, textContent }),
  );
  const head = columns.map((column) => {
    const picture = makeElement("i", { innerHTML: drawPictogram(column) });
    const sign = makeElement("b", { textContent: column.sign });
    return makeElement("th", { scope: "col" }, picture, sign, makeElement("small", { textContent: column.name }));
  });
  const body = rows.map(({ name, note, cells }) =>
    makeElement(
      "tr",
      {},
      makeElement("th", { scope: "row" }, name, makeElement("small", { textContent: note })),
      ...cells.map((cell) => makeElement("td", {}, makeButton(cell, open))),
    ),
  );
  const heads = [makeElement("tr", {}, makeElement("td", { rowSpan: 2 }), ...above), makeElement("tr", {}, ...head)];
  const table = makeElement("table", {}, makeElement("thead", {}, ...heads), makeElement("tbody", {}, ...body));
  table.setAttribute("aria-label", label);
  return table;
}

/**
 * Draw a table of cases that calls `onOpen` with the key of a clicked cell.
 * @param {HTMLElement} root
 * @param {GridData} data
 * @param {(cell: string) => void} onOpen
 */
export function drawGrid(root, data, onOpen) {
  root.onclick = (event) => {
    const cell = findClosest(event, "button")?.dataset.cell;
    if (cell) onOpen(cell);
  };
  root.onkeydown = (event) => {
    const cell = findClosest(event, "button")?.dataset.cell;
    if (!cell || !MOVES.has(event.key)) return;
    event.preventDefault();
    const next = findNeighbour(data.rows, cell, event.key);
    if (next) find(root, selectCell(next), HTMLElement).focus();
  };
  const focused = readFocused(root, "cell");
  for (const [role, colour] of Object.entries(data.colours)) root.style.setProperty(`--${role}`, colour);
  root.classList.toggle("small", data.small);
  root.replaceChildren(makeTable(data));
  if (focused) focusOn(root, selectCell(focused));
  countDrawing(root);
}

/**
 * Scroll to the open case if it is out of view, as above the table on a phone.
 * @param {string} shows
 */
function goToCase(shows) {
  const target = document.querySelector(`.st-key-${shows}`);
  if (target && target.getBoundingClientRect().top < 0)
    target.scrollIntoView({ block: "start", behavior: reducedMotion.matches ? "auto" : "smooth" });
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-grid", HTMLElement);
  /** @type {GridData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  root.ontransitionend = ({ target }) => {
    // the theme changed: the server has the colours
    if (target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  drawGrid(root, data, (cell) => {
    setStateValue("open", cell);
    goToCase(data.shows);
  });
}
