// Shares the page, sets it back, and shows it to a class: in large type, without menu and controls, with
// the keys of a clicker. teaching.css says how a page looks then; frame.py draws the links to the pages before and
// behind, a lesson the buttons to its steps.

import { followLesson } from "./answering.js";
import { readLatest } from "./data.js";
import { find, makeElement } from "./dom.js";

/** @import {Given} from "./component.d.ts" */

/** @typedef {{label: string, presenting: boolean, language: string}} ToolbarData what `show_toolbar` of normviz/web/components/toolbar.py sends */

/** @typedef {keyof typeof ICONS} Act */

/** The parts in the language of lessons and classes, which a screen reader has to know; the rest is in English. */
const TRANSLATED =
  ".st-key-lesson, .st-key-lessons, .stMain:has(.st-key-languages) :is(.st-key-story, .st-key-takeaway)";

const ICONS = {
  share:
    '<path d="M6.5 9.5l3-3M7 4.5l1.6-1.6a2.9 2.9 0 0 1 4.1 4.1L11 8.6M9 11.5l-1.6 1.6a2.9 2.9 0 0 1-4.1-4.1L5 7.4"/>',
  reset: '<path d="M3 3v3.5h3.5M3.3 6.3A5.2 5.2 0 1 1 2.8 8.6"/>',
  present: '<path d="M1.5 2.5h13M2.5 2.5v7.5h11V2.5M8 10v1.5M5.5 14L8 11.5 10.5 14"/>',
  before: '<path d="M10 3L5 8l5 5"/>',
  behind: '<path d="M6 3l5 5-5 5"/>',
  controls: '<path d="M2 4.5h12M2 11.5h12M5.5 2.7v3.6M10.5 9.7v3.6"/>',
  leave: '<path d="M3.5 3.5l9 9m0-9l-9 9"/>',
};
/** @type {[Act, string][]} */
const ALWAYS = [
  ["share", "Share"],
  ["reset", "Reset"],
  ["present", "Present"],
];
/** @type {[Act, string][]} */
const PRESENTING = [
  ["before", "Previous page"],
  ["behind", "Next page"],
  ["controls", "Controls"],
  ["leave", "Leave"],
];
/** @type {Map<string, Act>} */
const KEYS = new Map([
  ["PageUp", "before"],
  ["PageDown", "behind"],
  ["Escape", "leave"],
]);
const TAKES_KEYS = "input, textarea, select, [role=slider], [role=combobox], [role=listbox], [contenteditable]";
const TOLD = 4000; // ms for which a message is shown

let listening = new AbortController(); // to the keys of a clicker
let told = 0; // the timer that removes the message

/**
 * @param {Act} act
 * @param {string} text
 * @param {() => void} onclick
 */
function makeButton(act, text, onclick) {
  const node = makeElement("button", { type: "button", title: text, onclick });
  node.dataset.do = act;
  node.setAttribute("aria-label", text);
  node.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true">${ICONS[act]}</svg><span>${text}</span>`;
  return node;
}

/**
 * Return the factor by which a presentation enlarges its text in a window of this width.
 * @param {number} width in pixels
 */
export const scaleText = (width) => Math.min(2.2, Math.max(1, width / 960)).toFixed(2);

/**
 * Return the action of a clicker's key; undefined with Ctrl, Alt or Meta, or if the key is already handled.
 * @param {Pick<KeyboardEvent, "key" | "defaultPrevented" | "ctrlKey" | "altKey" | "metaKey">} event
 */
export const findKeyAction = ({ key, defaultPrevented, ctrlKey, altKey, metaKey }) =>
  defaultPrevented || ctrlKey || altKey || metaKey ? undefined : KEYS.get(key);

/** @param {number} place of a link to the page before or behind, or of the button to that step of a lesson */
function follow(place) {
  const link = document.querySelectorAll(".st-key-turns a, .st-key-lesson-turns button")[place];
  if (link instanceof HTMLElement) link.click();
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setTriggerValue }) {
  const root = find(parentElement, ".nv-toolbar", HTMLElement);
  /** @type {ToolbarData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  root.setAttribute("aria-label", data.label);
  const { classList, style } = document.documentElement;
  const enlarge = () => style.setProperty("--nv-scale", scaleText(innerWidth));
  enlarge();
  window.onresize = enlarge;
  for (const part of document.querySelectorAll(TRANSLATED)) part.setAttribute("lang", data.language);
  classList.toggle("nv-presenting", data.presenting);
  if (!data.presenting) classList.remove("nv-controls");
  const output = makeElement("output");

  /** @param {string} text */
  const say = (text) => {
    clearTimeout(told);
    output.textContent = text;
    told = setTimeout(() => {
      output.textContent = "";
    }, TOLD);
  };
  /** @type {Record<Act, () => void>} */
  const acts = {
    share: () => setTriggerValue("share", Date.now()),
    reset: () => {
      setTriggerValue("reset", Date.now());
      say("Set back");
    },
    present: () => setTriggerValue("present", Date.now()),
    leave: () => setTriggerValue("present", Date.now()),
    before: () => follow(0),
    behind: () => follow(1),
    controls: () => {
      const open = classList.toggle("nv-controls");
      find(root, "[data-do=controls]", HTMLElement).setAttribute("aria-expanded", String(open));
    },
  };
  const buttons = data.presenting ? PRESENTING : ALWAYS;
  root.replaceChildren(output, ...buttons.map(([act, text]) => makeButton(act, text, acts[act])));
  if (data.presenting) {
    acts.controls();
    acts.controls(); // says whether they are open
  }

  listening.abort();
  listening = new AbortController();
  /** @param {KeyboardEvent} event */
  const press = (event) => {
    const act = findKeyAction(event);
    if (!act || !data.presenting || !root.isConnected) return;
    const [target] = event.composedPath();
    if (target instanceof Element && target.matches(TAKES_KEYS)) return;
    if (event.key === "Escape" && document.querySelector("[role=dialog], [role=listbox]")) return;
    event.preventDefault();
    acts[act]();
  };
  document.addEventListener("keydown", press, { signal: listening.signal });
  document.addEventListener("click", followLesson, { signal: listening.signal });
}
