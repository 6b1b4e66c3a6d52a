// Saves a picture as it is shown: as PNG, as SVG with its words, and a cube as a web page.

import { find, makeElement } from "./dom.js";
import { getCamera, getSides } from "./plotly_internals.js";

const SAVE =
  '<summary title="Save this picture" aria-label="Save this picture"><svg viewBox="0 0 16 16" ' +
  'aria-hidden="true"><path d="M8 2v8m-3.5-3.5L8 10l3.5-3.5M2.5 11.5V14h11v-2.5"/></svg></summary>';
const FORMATS = /** @type {const} */ ({ PNG: "png", SVG: "svg", "Web page": "html" });

/** @import {PlacedText} from "./labels.js" */
/** @import {Graph, Layout} from "./plotly.d.ts" */

/** @typedef {keyof typeof FORMATS} FormatName */
/** @typedef {typeof FORMATS[FormatName]} Format */
/** @typedef {"png" | "svg"} PictureFormat */

/**
 * Add a button after a picture that opens the file formats.
 * @param {Element} picture
 * @param {() => {name: string, alt: string}} describe returns the picture's name and its words now
 * @param {(format: Format, alt: string) => Promise<Blob | null> | Blob} create returns the file, or null
 *   where it cannot be made
 * @param {FormatName[]} [names]
 */
export function addSaveMenu(picture, describe, create, names = ["PNG", "SVG"]) {
  const menu = makeElement("details", { className: "nv-save", innerHTML: SAVE });
  menu.append(...names.map((textContent) => makeElement("button", { type: "button", textContent })));
  menu.onclick = async ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return;
    menu.open = false;
    const { name, alt } = describe();
    const format = FORMATS[/** @type {FormatName} */ (target.textContent)];
    const file = await create(format, alt);
    if (file) downloadFile(file, `normviz-${name.replaceAll(" ", "-")}.${format}`);
  };
  menu.onkeydown = (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    menu.open = false;
    find(menu, "summary", HTMLElement).focus();
  };
  picture.after(menu);
}

/**
 * Return the file of a figure of Plotly, with its theme, camera and zoom; as PNG at twice its size.
 * @param {Graph} graph
 * @param {PictureFormat} format
 * @param {string} alt
 * @param {PlacedText[]} texts that the page writes over a cube
 */
export async function createFigureFile(graph, format, alt, texts) {
  const { clientWidth: width, clientHeight: height, data } = graph;
  /** @type {Layout} */
  const layout = {
    ...graph.layout,
    paper_bgcolor: getComputedStyle(graph.closest(".stApp") ?? document.body).backgroundColor,
  };
  const { scene } = layout;
  if (scene) {
    layout.scene = { ...scene, camera: getCamera(graph), aspectratio: getSides(graph) };
    const { fontFamily: family, color } = getComputedStyle(graph);
    layout.annotations = texts.map(({ lines, x, y, size, colour }) => ({
      text: lines.join("<br>"),
      showarrow: false,
      xref: "paper",
      yref: "paper",
      x: x / width,
      y: 1 - y / height,
      xanchor: "center",
      yanchor: "middle",
      font: { family, color: colour || color, size },
    }));
  }
  const scale = format === "png" ? 2 : 1;
  const url = await window.Plotly.toImage({ data, layout }, { format, width, height, scale });
  const content = url.slice(url.indexOf(",") + 1); // the app's security policy forbids fetching a data URL
  if (format === "png")
    return new Blob([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], { type: "image/png" });
  return createSvgFile(decodeURIComponent(content), alt);
}

/**
 * Return the file of a drawing, with its alternative text.
 * @param {string} markup
 * @param {string} alt
 */
export function createSvgFile(markup, alt) {
  const drawn = new DOMParser().parseFromString(markup, "image/svg+xml");
  const title = drawn.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = alt;
  drawn.documentElement.prepend(title);
  return new Blob([new XMLSerializer().serializeToString(drawn)], { type: "image/svg+xml" });
}

/**
 * Download a file.
 * @param {Blob} blob
 * @param {string} name
 */
function downloadFile(blob, name) {
  const link = makeElement("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
