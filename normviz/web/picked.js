// Opens the sidebar, which covers a phone's screen, and closes it when one of several schemes or experiments has been
// chosen there.

import { readLatest } from "./data.js";
import { find, findClosest } from "./dom.js";

/** @import {Given} from "./component.d.ts" */

/** @typedef {{text: string}} PickedData what `picked` of normviz/web/components/picked.py sends */

const NARROW = "(max-width: 768px)"; // where Streamlit starts with its sidebar closed
const ONE = '.st-key-scheme [data-variant="pills"], .st-key-experiments-show [data-testid="stRadioOption"]';
const GLIDE = 150; // ms until the sidebar of Streamlit has moved after a click

/** @type {WeakMap<HTMLElement, AbortController>} */
const listening = new WeakMap();

/**
 * Click a button of Streamlit, if it exists.
 * @param {string} selector
 */
function press(selector) {
  const button = document.querySelector(selector);
  if (button instanceof HTMLElement) button.click();
}

/** Scroll the sidebar to its controls: on a phone the menu stands above them, and may fill the screen. */
function scrollPastMenu() {
  const sidebar = document.querySelector('[data-testid="stSidebarContent"]');
  const controls = sidebar?.querySelector('[data-testid="stSidebarUserContent"]');
  if (!sidebar || !controls) return;
  sidebar.scrollTop += controls.getBoundingClientRect().top - sidebar.getBoundingClientRect().top;
}

/** @param {Given} given */
export default function ({ data: sent, parentElement }) {
  const root = find(parentElement, ".nv-picked", HTMLElement);
  /** @type {PickedData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  find(root, "span", HTMLElement).textContent = data.text;
  root.setAttribute("aria-label", `Change what is picked: ${data.text}`);
  root.onclick = () => {
    press('[data-testid="stExpandSidebarButton"]');
    setTimeout(scrollPastMenu, GLIDE);
  };
  listening.get(root)?.abort();
  const end = new AbortController();
  listening.set(root, end);
  // In the capture phase, since Streamlit's listeners stop the event; the action runs after theirs.
  document.addEventListener(
    "click",
    (event) => {
      if (!root.isConnected || !matchMedia(NARROW).matches || !findClosest(event, ONE)) return;
      setTimeout(press, GLIDE, '[data-testid="stSidebarCollapseButton"] button');
    },
    { capture: true, signal: end.signal },
  );
}
