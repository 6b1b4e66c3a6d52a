// A diagram of cards in rows and lines between them, as one drawing, so that it is saved as it is seen. A card is a
// button: Tab goes from one to the next, the arrow keys along the lines and the rows, Enter and a click choose.

import { closest, countDrawing, find, focusOn, make, readFocused } from "./dom.js";
import { mount } from "./mount.js";
import { addSaveMenu, createSvgFile } from "./saving.js";

/** @import {SetValue} from "./component.d.ts" */

/**
 * What `diagram` of normviz/ui/components/diagram.py sends; lengths are in pixels.
 *
 * @typedef {object} DiagramData
 * @property {string} name
 * @property {string} alt the diagram in a sentence
 * @property {string} alarm the colour of a card that raises an alert
 * @property {number} width
 * @property {number} height
 * @property {[number, number]} mark width and height of a mark
 * @property {string} chosen code of the chosen card
 * @property {{marks: Mark[], texts: Text[]}} key the key to the marks, above the cards
 * @property {{x: number, y: number, text: string}[]} levels texts left of the rows
 * @property {Line[]} lines
 * @property {Card[]} cards from the lowest row
 */

/**
 * A card; its marks, texts and bar are placed from its corner.
 *
 * @typedef {object} Card
 * @property {string} code
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 * @property {string} title read aloud
 * @property {boolean} alert
 * @property {Mark[]} marks
 * @property {Text[]} texts
 * @property {{x: number, y: number, width: number, share: number} | null} bar
 */

/** @typedef {{low: string, high: string, path: string}} Line between the cards with these codes */
/** @typedef {{x: number, y: number, text: string, on: boolean}} Mark */
/** @typedef {{x: number, y: number, text: string, kind: string}} Text */

const SVG = "http://www.w3.org/2000/svg";
const ROOM = 16; // pixels around the drawing in a file
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

/**
 * Return the codes of all cards that lines lead to from a card.
 *
 * @param {Pick<Line, "low" | "high">[]} lines
 * @param {string} code
 * @param {"low" | "high"} from the end of each line where the way enters it
 * @returns {Set<string>}
 */
export function followLines(lines, code, from) {
  const to = from === "low" ? "high" : "low";
  /** @type {Set<string>} */
  const found = new Set();
  const open = [code];
  for (const at of open) {
    for (const line of lines) {
      if (line[from] !== at || found.has(line[to])) continue;
      found.add(line[to]);
      open.push(line[to]);
    }
  }
  return found;
}

/**
 * Return the code of the card that an arrow key leads to: up and down the nearest at the end of a line, else the nearest
 * of the row. Undefined where there is none.
 *
 * @param {{cards: Pick<Card, "code" | "x" | "y">[], lines: Pick<Line, "low" | "high">[]}} data
 * @param {string} code
 * @param {string} key
 */
export function findNeighbour({ cards, lines }, code, key) {
  const here = cards.find((card) => card.code === code);
  if (!here) return undefined;
  /** @param {typeof cards[number]} card */
  const far = (card) => Math.abs(card.x - here.x);
  /** @param {string} found */
  const findCards = (found) => cards.filter((card) => card.code === found);
  const row = cards.filter(({ y }) => y === here.y);
  /** @type {Record<string, typeof cards>} */
  const ways = {
    ArrowUp: lines.flatMap(({ low, high }) => (low === code ? findCards(high) : [])),
    ArrowDown: lines.flatMap(({ low, high }) => (high === code ? findCards(low) : [])),
    ArrowLeft: row.filter(({ x }) => x < here.x),
    ArrowRight: row.filter(({ x }) => x > here.x),
  };
  return ways[key]?.toSorted((a, b) => far(a) - far(b))[0]?.code;
}

/**
 * Make an element of SVG with these attributes and children.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** @param {Text} text */
const drawText = ({ x, y, text, kind }) => draw("text", { x, y, class: kind }, text);

/**
 * @param {Mark} mark
 * @param {[number, number]} size
 */
function drawMark({ x, y, text, on }, [width, height]) {
  return draw(
    "g",
    { class: on ? "mark on" : "mark" },
    draw("rect", { x, y, width, height, rx: 4 }),
    draw("text", { x: x + width / 2, y: y + height * 0.72 }, text),
  );
}

/**
 * @param {Card} card
 * @param {[number, number]} size of a mark
 */
function drawCard({ code, x, y, width, height, title, marks, texts, bar, alert }, size) {
  const node = draw(
    "g",
    {
      class: alert ? "card alert" : "card",
      transform: `translate(${x} ${y})`,
      role: "button",
      tabindex: 0,
      "aria-label": title,
      "data-code": code,
    },
    draw("title", {}, title),
    draw("rect", { width, height, rx: 9 }),
    ...marks.map((mark) => drawMark(mark, size)),
    ...texts.map(drawText),
  );
  if (bar) {
    const place = { x: bar.x, y: bar.y, height: 6, rx: 3 };
    node.append(
      draw("rect", { ...place, width: bar.width, class: "bar" }),
      draw("rect", { ...place, width: bar.width * bar.share, class: "done" }),
    );
  }
  return node;
}

/** @param {DiagramData} data */
function drawDiagram({ width, height, alt, mark, key, levels, lines, cards }) {
  const drawn = draw(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": alt },
    draw(
      "g",
      { class: "key", "aria-hidden": "true" },
      ...key.marks.map((each) => drawMark(each, mark)),
      ...key.texts.map(drawText),
    ),
    ...lines.map(({ low, high, path }) => draw("path", { d: path, "data-low": low, "data-high": high })),
    ...levels.map(({ x, y, text }) =>
      draw(
        "g",
        { class: "level", "aria-hidden": "true" },
        draw("text", { x, y, class: "count left" }, text),
        draw("text", { x, y: y + 18, class: "unit left" }, "absorbed"),
      ),
    ),
    ...cards.map((card) => drawCard(card, mark)),
  );
  drawn.style.setProperty("--width", String(width));
  drawn.style.setProperty("--ratio", String(width / height));
  return drawn;
}

/** @param {string} code */
const selectCard = (code) => `.card[data-code="${CSS.escape(code)}"]`;

class Diagram {
  /**
   * @param {HTMLElement} root
   * @param {DiagramData} data
   * @param {SetValue} setStateValue
   */
  constructor(root, data, setStateValue) {
    this.root = root;
    this.data = data;
    this.setStateValue = setStateValue;
    this.scroll = find(root, ".nv-scroll", HTMLElement);
    this.drawing = drawDiagram(data);
    addSaveMenu(
      this.scroll,
      () => this.data,
      (/** @type {string} */ format, /** @type {string} */ alt) => this.file(format, alt),
    );
    this.scroll.onclick = (event) => this.choose(closest(event, ".card")?.dataset.code);
    this.scroll.onkeydown = (event) => this.press(event, closest(event, ".card")?.dataset.code);
  }

  /**
   * @param {DiagramData} data
   * @param {SetValue} setStateValue
   */
  update(data, setStateValue) {
    const first = this.root.dataset.drawn === undefined;
    const focused = readFocused(this.root, "code");
    this.data = data;
    this.setStateValue = setStateValue;
    this.root.style.setProperty("--alarm", data.alarm);
    this.drawing = drawDiagram(data);
    this.scroll.replaceChildren(this.drawing);
    this.light(data.chosen);
    if (focused !== undefined) focusOn(this.drawing, selectCard(focused));
    if (first) this.reveal(data.chosen);
    countDrawing(this.root);
  }

  /**
   * Scroll a card into the middle of the box, where the drawing is wider than its box.
   *
   * @param {string} code
   */
  reveal(code) {
    const card = this.drawing.querySelector(selectCard(code));
    if (!card) return;
    const box = this.scroll.getBoundingClientRect();
    const { left, width } = card.getBoundingClientRect();
    this.scroll.scrollLeft += left + width / 2 - box.left - box.width / 2;
  }

  /**
   * Light the chosen card, the cards below and above it, and the lines between them.
   *
   * @param {string} chosen
   */
  light(chosen) {
    const { lines } = this.data;
    const up = followLines(lines, chosen, "low");
    const down = followLines(lines, chosen, "high");
    for (const card of /** @type {NodeListOf<SVGElement>} */ (this.drawing.querySelectorAll(".card"))) {
      const code = card.dataset.code ?? "";
      card.setAttribute("aria-pressed", String(code === chosen));
      card.classList.toggle("up", up.has(code));
      card.classList.toggle("down", down.has(code));
    }
    const above = new Set([chosen, ...up]);
    const below = new Set([chosen, ...down]);
    for (const path of this.drawing.querySelectorAll("path")) {
      const { low = "", high = "" } = path.dataset;
      path.classList.toggle("up", above.has(low) && above.has(high));
      path.classList.toggle("down", below.has(low) && below.has(high));
    }
  }

  /** @param {string | undefined} code */
  choose(code) {
    if (code === undefined) return;
    this.light(code);
    this.setStateValue("chosen", code);
  }

  /**
   * @param {KeyboardEvent} event
   * @param {string | undefined} code of the card with the focus
   */
  press(event, code) {
    if (code === undefined) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(code);
    }
    const next = findNeighbour(this.data, code, event.key);
    if (next === undefined) return;
    event.preventDefault();
    find(this.drawing, selectCard(next), SVGElement).focus();
    this.reveal(next);
  }

  /**
   * Return the drawing as it is seen as a file.
   *
   * @param {string} format "png" or "svg"
   * @param {string} alt
   */
  async file(format, alt) {
    const { width, height } = this.data;
    const copy = /** @type {SVGSVGElement} */ (this.drawing.cloneNode(true));
    const copies = [copy, .../** @type {NodeListOf<SVGElement>} */ (copy.querySelectorAll("*"))];
    [this.drawing, ...this.drawing.querySelectorAll("*")].forEach((node, k) => {
      const style = getComputedStyle(node);
      for (const look of LOOKS) copies[k].style.setProperty(look, style.getPropertyValue(look));
      for (const name of ["role", "tabindex", "class"]) copies[k].removeAttribute(name);
    });
    const box = { x: -ROOM, y: -ROOM, width: width + 2 * ROOM, height: height + 2 * ROOM };
    const tree = this.root.getRootNode();
    const app = tree instanceof ShadowRoot ? tree.host.closest(".stApp") : null;
    copy.prepend(draw("rect", { ...box, fill: getComputedStyle(app ?? document.body).backgroundColor }));
    copy.setAttribute("viewBox", Object.values(box).join(" "));
    copy.setAttribute("width", String(box.width));
    copy.setAttribute("height", String(box.height));
    const markup = new XMLSerializer().serializeToString(copy);
    return format === "svg" ? createSvgFile(markup, alt) : paint(createSvgFile(markup, alt), box);
  }
}

/**
 * Return a drawing as PNG, at twice its size.
 *
 * @param {Blob} blob
 * @param {{width: number, height: number}} size
 * @returns {Promise<Blob | null>}
 */
async function paint(blob, { width, height }) {
  const image = new Image();
  const url = URL.createObjectURL(blob);
  image.src = url;
  await image.decode();
  const canvas = make("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((done) => canvas.toBlob(done));
}

export default mount(".nv-diagram", Diagram);
