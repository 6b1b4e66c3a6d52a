// The entry of a web page of its own that shows one figure: all that it needs is in the page, which has no server.

import { unpackMessage } from "./data.js";
import { find, makeElement } from "./dom.js";
import { Plot } from "./plot.js";

/** @import {PlotMessage, SavedState} from "./messages.d.ts" */

/**
 * Return the text of an element of the page.
 * @param {string} id
 */
const read = (id) => find(document, `#${id}`, HTMLElement).textContent ?? "";

/**
 * Return the bytes that an element of the page holds.
 * @param {string} id
 */
const readBytes = (id) => Uint8Array.from(atob(read(id)), (c) => c.charCodeAt(0));

/** Run plotly.js, which the page holds compressed. */
async function runLibrary() {
  const packed = new Blob([readBytes("nv-library")]).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(makeElement("script", { text }));
}

/** @type {SavedState} */
const state = JSON.parse(read("nv-state"));
/** @type {PlotMessage | Record<string, PlotMessage>} */
const message = unpackMessage(readBytes("nv-message"));
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Return the message in the theme of the browser, or in the only theme that it has. A chart fills the window. */
function choose() {
  const themed = /** @type {Record<string, PlotMessage>} */ (message);
  const found = themed.light ? themed[dark.matches ? "dark" : "light"] : /** @type {PlotMessage} */ (message);
  const size = found.hover ? {} : { height: "clamp(14rem, 85vh, 50rem)" };
  return { ...found, ...size, ...state, library: "", page: "" };
}

/** Draw the figure, and again when the browser changes its theme. */
async function start() {
  const first = choose();
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  const title = first.title || first.alt.split(/[.:;] /)[0];
  document.title = title;
  find(document, "h1", HTMLElement).textContent = title;
  await runLibrary();
  const plot = new Plot(find(document, ".nv-plot", HTMLElement), first, () => {});
  await plot.update(first, () => {});
  dark.onchange = () => plot.update(choose(), () => {});
}

start();
