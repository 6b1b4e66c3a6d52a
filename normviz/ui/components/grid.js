// A table of buttons: a cell has a verdict, and marks in shape, word and colour. Redrawn in place; the arrow keys
// walk from cell to cell, and the focus stays where it is when the numbers change.

const SHAPES = {
  yes: '<circle cx="8" cy="8" r="8" fill="currentColor"/><path d="M4 8.4l2.8 2.8L12 5.4" fill="none" stroke="#fff" stroke-width="2.2"/>',
  no: '<path d="M1 1h14v14H1z" fill="none" stroke="currentColor" stroke-width="2"/><path d="M4.5 4.5l7 7m0-7l-7 7" stroke="currentColor" stroke-width="2.2"/>',
  fades: '<circle cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="2"/><path d="M8 1a7 7 0 0 1 0 14z" fill="currentColor"/>',
  none: '<path d="M2 8h12" stroke="currentColor" stroke-width="2.4"/>',
  wait: '<circle cx="8" cy="8" r="7" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="2.2 3.3"/>',
};

const make = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};

function mark({ answer, name, value }) {
  const row = make("span", { className: `mark ${answer}` });
  row.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[answer]}</svg>`;
  row.append(name, make("b", { textContent: value ?? "" }));
  return row;
}

function button(cell, open) {
  const node = make("button", { type: "button", title: cell.title });
  node.dataset.cell = cell.key;
  node.setAttribute("aria-label", cell.title);
  node.setAttribute("aria-pressed", String(cell.key === open));
  node.className = [cell.answer, cell.paper && "paper", cell.alert && "alert", cell.covered && "covered"]
    .filter(Boolean).join(" ");
  if (cell.covered) node.append(make("span", { textContent: "?" }));
  else {
    node.append(make("strong", { textContent: cell.word }), ...cell.marks.map(mark));
    if (cell.note) node.append(make("span", { className: "note", textContent: cell.note }));
  }
  return node;
}

function draw(root, data) {
  const held = root.getRootNode().activeElement?.dataset.cell;
  const head = make("tr", {}, make("th", { scope: "col", textContent: data.corner }), ...data.columns.map(({ name, change }) =>
    make("th", { scope: "col" }, name, make("small", { textContent: change }))));
  const rows = data.rows.map((row) => make("tr", {},
    make("th", { scope: "row" }, row.name, make("small", { textContent: row.note })),
    ...row.cells.map((cell) => make("td", {}, button(cell, data.open)))));
  const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
  table.setAttribute("aria-label", data.label);
  root.style.setProperty("--yes", data.colours.yes);
  root.style.setProperty("--no", data.colours.no);
  root.replaceChildren(table);
  if (held) root.querySelector(`[data-cell="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
  root.dataset.drawn = Number(root.dataset.drawn ?? 0) + 1;
}

const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-grid"), data = latest(root, sent);
  if (!data) return;
  root.onclick = (event) => {
    const cell = event.target.closest("button")?.dataset.cell;
    if (cell) setStateValue("open", cell);
  };
  root.onkeydown = (event) => {
    const move = MOVES[event.key], td = event.target.closest("td");
    if (!move || !td) return;
    event.preventDefault();
    const { rows } = root.querySelector("tbody"), row = rows[td.parentElement.sectionRowIndex + move[0]];
    row?.cells[td.cellIndex + move[1]]?.querySelector("button")?.focus();
  };
  root.ontransitionend = (event) => {          // the theme changed: the server has the colours
    if (event.target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  draw(root, data);
}
