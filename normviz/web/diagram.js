// A diagram of cards in rows and lines between them, as one drawing, so that it is saved as it is seen. A card is a
// button: Tab goes from one to the next, the arrow keys along the lines and the rows, Enter and a click choose.

import { latest } from "./data.js";
import { drawing, saver } from "./saving.js";

export const SVG = "http://www.w3.org/2000/svg";
const diagrams = new WeakMap();

export function svg(tag, properties = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const written = ({ x, y, text, kind }) => svg("text", { x, y, class: kind }, text);

function mark({ x, y, text, on }, [width, height]) {
  return svg(
    "g",
    { class: on ? "mark on" : "mark" },
    svg("rect", { x, y, width, height, rx: 4 }),
    svg("text", { x: x + width / 2, y: y + height * 0.72 }, text),
  );
}

function card({ code, x, y, width, height, title, marks, texts, bar, alert }, size) {
  const node = svg(
    "g",
    {
      class: alert ? "card alert" : "card",
      transform: `translate(${x} ${y})`,
      role: "button",
      tabindex: 0,
      "aria-label": title,
      "data-code": code,
    },
    svg("title", {}, title),
    svg("rect", { width, height, rx: 9 }),
    ...marks.map((each) => mark(each, size)),
    ...texts.map(written),
  );
  if (bar) {
    const place = { x: bar.x, y: bar.y, height: 6, rx: 3 };
    node.append(
      svg("rect", { ...place, width: bar.width, class: "bar" }),
      svg("rect", { ...place, width: bar.width * bar.share, class: "done" }),
    );
  }
  return node;
}

// The codes of all cards that the lines lead to from one, up or down.
function reached(lines, code, from, to) {
  const found = new Set();
  const open = [code];
  while (open.length) {
    const at = open.pop();
    for (const line of lines) {
      if (line[from] === at && !found.has(line[to])) {
        found.add(line[to]);
        open.push(line[to]);
      }
    }
  }
  return found;
}

// What an element looks like, in words of its own: a file has no style sheet.
const LOOKS = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "font-variant-numeric",
];

class Diagram {
  constructor(root) {
    this.root = root;
    this.scroll = root.querySelector(".nv-scroll");
    saver(
      this.scroll,
      () => this.data,
      (format, alt) => this.file(format, alt),
    );
    this.scroll.onclick = ({ target }) => this.choose(target.closest(".card"));
    this.scroll.onkeydown = (event) => this.press(event);
  }

  update({ data, setStateValue }) {
    const first = !this.data;
    const held = this.root.getRootNode().activeElement?.dataset.code;
    [this.data, this.setStateValue] = [data, setStateValue];
    this.root.style.setProperty("--alarm", data.alarm);
    const { width, height, key, levels, lines, cards, alt } = data;
    this.drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": alt });
    this.drawing.style.setProperty("--width", width);
    this.drawing.style.setProperty("--ratio", width / height);
    this.drawing.append(
      svg(
        "g",
        { class: "key", "aria-hidden": true },
        ...key.marks.map((each) => mark(each, data.mark)),
        ...key.texts.map(written),
      ),
      ...lines.map(({ low, high, path }) => svg("path", { d: path, "data-low": low, "data-high": high })),
      ...levels.map(({ x, y, text }) =>
        svg(
          "g",
          { class: "level", "aria-hidden": true },
          svg("text", { x, y, class: "count left" }, text),
          svg("text", { x, y: y + 18, class: "unit left" }, "absorbed"),
        ),
      ),
      ...cards.map((each) => card(each, data.mark)),
    );
    this.scroll.replaceChildren(this.drawing);
    this.light(data.chosen);
    if (held !== undefined) this.at(held)?.focus({ preventScroll: true });
    if (first) this.reveal(this.at(data.chosen));
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  at(code) {
    return this.drawing.querySelector(`.card[data-code="${CSS.escape(code)}"]`);
  }

  // Where the drawing is wider than its box, a card is moved into the middle of it.
  reveal(node) {
    if (!node) return;
    const box = this.scroll.getBoundingClientRect();
    const { left, width } = node.getBoundingClientRect();
    this.scroll.scrollLeft += left + width / 2 - box.left - box.width / 2;
  }

  // The chosen card, what it holds and what holds it, and the lines between them.
  light(code) {
    const { lines } = this.data;
    const up = reached(lines, code, "low", "high");
    const down = reached(lines, code, "high", "low");
    for (const node of this.drawing.querySelectorAll(".card")) {
      const its = node.dataset.code;
      node.setAttribute("aria-pressed", String(its === code));
      node.classList.toggle("up", up.has(its));
      node.classList.toggle("down", down.has(its));
    }
    const above = new Set([code, ...up]);
    const below = new Set([code, ...down]);
    for (const path of this.drawing.querySelectorAll("path")) {
      const { low, high } = path.dataset;
      path.classList.toggle("up", above.has(low) && above.has(high));
      path.classList.toggle("down", below.has(low) && below.has(high));
    }
  }

  choose(node) {
    if (!node) return;
    this.light(node.dataset.code);
    this.setStateValue("chosen", node.dataset.code);
  }

  press(event) {
    const node = event.target.closest(".card");
    if (!node) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(node);
    }
    const to = this.beside(node.dataset.code, event.key);
    if (!to) return;
    event.preventDefault();
    this.at(to.code).focus({ preventScroll: false });
    this.reveal(this.at(to.code));
  }

  // The card that an arrow key leads to: up and down the nearest at the end of a line, else the nearest of the row.
  beside(code, key) {
    const { cards, lines } = this.data;
    const here = cards.find((each) => each.code === code);
    const far = (each) => Math.abs(each.x - here.x);
    const nearest = (some) => some.toSorted((a, b) => far(a) - far(b))[0];
    const ends = (from, to) =>
      lines.filter((line) => line[from] === code).map((line) => cards.find((each) => each.code === line[to]));
    const row = cards.filter((each) => each.y === here.y);
    if (key === "ArrowUp") return nearest(ends("low", "high"));
    if (key === "ArrowDown") return nearest(ends("high", "low"));
    if (key === "ArrowLeft") return nearest(row.filter((each) => each.x < here.x));
    if (key === "ArrowRight") return nearest(row.filter((each) => each.x > here.x));
    return undefined;
  }

  // The drawing as it is seen, as a file.
  async file(format, alt) {
    const { width, height } = this.data;
    const copy = this.drawing.cloneNode(true);
    const room = 16;
    const nodes = [this.drawing, ...this.drawing.querySelectorAll("*")];
    const copies = [copy, ...copy.querySelectorAll("*")];
    nodes.forEach((node, k) => {
      const style = getComputedStyle(node);
      for (const look of LOOKS) copies[k].style.setProperty(look, style.getPropertyValue(look));
      for (const name of ["role", "tabindex", "class"]) copies[k].removeAttribute(name);
    });
    const box = { x: -room, y: -room, width: width + 2 * room, height: height + 2 * room };
    const ground = getComputedStyle(this.root.getRootNode().host?.closest(".stApp") ?? document.body).backgroundColor;
    copy.prepend(svg("rect", { ...box, fill: ground }));
    copy.setAttribute("viewBox", Object.values(box).join(" "));
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    const markup = new XMLSerializer().serializeToString(copy);
    return format === "svg" ? drawing(markup, alt) : painted(drawing(markup, alt), box);
  }
}

// A drawing as PNG, at twice its size.
async function painted(blob, { width, height }) {
  const image = new Image();
  const url = URL.createObjectURL(blob);
  image.src = url;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((done) => canvas.toBlob(done));
}

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-diagram");
  const data = latest(root, sent);
  if (!data) return;
  if (!diagrams.has(root)) diagrams.set(root, new Diagram(root));
  diagrams.get(root).update({ data, setStateValue });
}
