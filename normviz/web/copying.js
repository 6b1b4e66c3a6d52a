// A text to copy: a field that selects itself, and a button.

import { readLatest } from "./data.js";
import { find, makeElement } from "./dom.js";

/** @import {Given} from "./component.d.ts" */

/** @typedef {{label: string, text: string, rows: number}} CopyingData what `show_copy_field` of normviz/web/components/copying.py sends */

const TOLD = 4000; // ms for which the button says that it has copied

/**
 * Copy a text; return true on success. Without https there is no clipboard to write to; the browser then copies
 * what is selected.
 * @param {string} text
 */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = makeElement("textarea", { value: text, readOnly: true });
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (focused instanceof HTMLElement) focused.focus();
    return done;
  }
}

/** @param {Given} given */
export default function ({ data: sent, parentElement }) {
  const root = find(parentElement, ".nv-copying", HTMLElement);
  /** @type {CopyingData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  find(root, "span", HTMLElement).textContent = data.label;
  const field = find(root, "textarea", HTMLTextAreaElement);
  Object.assign(field, {
    value: data.text,
    rows: data.rows,
    wrap: data.rows > 1 ? "soft" : "off",
    onfocus: () => field.select(),
  });
  const button = find(root, "button", HTMLButtonElement);
  button.onclick = async () => {
    if (!(await copy(data.text))) return field.select(); // for the keyboard, or for a finger's own menu
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, TOLD);
  };
}
