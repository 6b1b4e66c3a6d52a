// Copies the link of the page, sets it back, and shows it to a class: in large type, without menu and controls, with
// the keys of a clicker. style.css says how a page looks then; frame.py draws the links to the pages before and behind.

import { latest } from "./data.js";

const ICONS = {
  copy: '<path d="M6.5 9.5l3-3M7 4.5l1.6-1.6a2.9 2.9 0 0 1 4.1 4.1L11 8.6M9 11.5l-1.6 1.6a2.9 2.9 0 0 1-4.1-4.1L5 7.4"/>',
  reset: '<path d="M3 3v3.5h3.5M3.3 6.3A5.2 5.2 0 1 1 2.8 8.6"/>',
  present: '<path d="M1.5 2.5h13M2.5 2.5v7.5h11V2.5M8 10v1.5M5.5 14L8 11.5 10.5 14"/>',
  before: '<path d="M10 3L5 8l5 5"/>',
  behind: '<path d="M6 3l5 5-5 5"/>',
  controls: '<path d="M2 4.5h12M2 11.5h12M5.5 2.7v3.6M10.5 9.7v3.6"/>',
  leave: '<path d="M3.5 3.5l9 9m0-9l-9 9"/>',
};
const ALWAYS = [
  ["copy", "Copy link"],
  ["reset", "Reset"],
  ["present", "Present"],
];
const PRESENTING = [
  ["before", "Previous page"],
  ["behind", "Next page"],
  ["controls", "Controls"],
  ["leave", "Leave"],
];
const KEYS = { PageUp: "before", PageDown: "behind", Escape: "leave" };
const TAKES_KEYS = "input, textarea, select, [role=slider], [role=combobox], [role=listbox], [contenteditable]";
const TOLD = 4000; // ms for which it is said that something was done

function button(name, text) {
  const node = document.createElement("button");
  node.type = "button";
  node.dataset.do = name;
  node.title = text;
  node.setAttribute("aria-label", text);
  node.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true">${ICONS[name]}</svg><span>${text}</span>`;
  return node;
}

// Without https there is no clipboard to write to; the browser then copies what is selected.
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.readOnly = true;
    field.className = "nv-unseen";
    const focused = document.activeElement;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus();
    return done;
  }
}

export default function ({ data: sent, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".nv-toolbar");
  const data = latest(root, sent);
  if (!data) return;
  root.setAttribute("aria-label", data.label);
  const { classList, style } = document.documentElement;
  const large = () => style.setProperty("--nv-scale", Math.min(2.2, Math.max(1, innerWidth / 960)).toFixed(2));
  large();
  window.onresize = large;
  classList.toggle("nv-presenting", data.presenting);
  if (!data.presenting) classList.remove("nv-controls");
  const said = document.createElement("output");

  const say = (text) => {
    clearTimeout(root.told);
    said.textContent = text;
    root.told = setTimeout(() => {
      said.textContent = "";
    }, TOLD);
  };
  const go = (place) => document.querySelectorAll(".st-key-turns a")[place]?.click();
  const acts = {
    copy: async () => {
      if (await copied(location.href)) return say("Copied");
      const field = document.createElement("input");
      Object.assign(field, { value: location.href, readOnly: true, ariaLabel: "The link of this page" });
      said.replaceChildren("Copy it: ", field);
      field.select();
    },
    reset: () => {
      setTriggerValue("reset", Date.now());
      say("Set back");
    },
    present: () => setTriggerValue("present", Date.now()),
    leave: () => setTriggerValue("present", Date.now()),
    before: () => go(0),
    behind: () => go(1),
    controls: () => {
      const open = classList.toggle("nv-controls");
      root.querySelector("[data-do=controls]").setAttribute("aria-expanded", String(open));
    },
  };
  root.replaceChildren(said, ...(data.presenting ? PRESENTING : ALWAYS).map(([name, text]) => button(name, text)));
  if (data.presenting) {
    acts.controls();
    acts.controls(); // says whether they are open
  }
  root.onclick = (event) => acts[event.target.closest("button")?.dataset.do]?.();

  document.removeEventListener("keydown", window.nvPresenting);
  window.nvPresenting = (event) => {
    const { key, defaultPrevented, ctrlKey, altKey, metaKey } = event;
    const name = KEYS[key];
    const [target] = event.composedPath();
    if (!name || !data.presenting || !root.isConnected || defaultPrevented || ctrlKey || altKey || metaKey) return;
    if (target.matches?.(TAKES_KEYS) || (key === "Escape" && document.querySelector("[role=dialog], [role=listbox]")))
      return;
    event.preventDefault();
    acts[name]();
  };
  document.addEventListener("keydown", window.nvPresenting);
}
