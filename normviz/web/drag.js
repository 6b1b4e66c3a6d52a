// A slider that sends while it is dragged: one value at a time, the latest, as fast as the page follows.

import { latest } from "./data.js";

const PATIENCE = 3000; // ms after which a page that has not answered is asked again
const states = new WeakMap();

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-drag");
  const data = latest(root, sent);
  if (!data) return;
  const [label, output, input] = root.children;
  const state = states.get(root) ?? {};
  states.set(root, state);

  const send = () => {
    if (state.wanted === undefined || state.waiting) return;
    const index = state.wanted;
    state.wanted = undefined;
    state.waiting = setTimeout(() => {
      state.waiting = undefined;
      send();
    }, PATIENCE);
    setStateValue("index", index);
  };

  label.textContent = data.label;
  input.max = data.texts.length - 1;
  input.oninput = () => {
    output.textContent = data.texts[input.value];
    input.setAttribute("aria-valuetext", data.texts[input.value]);
    state.wanted = Number(input.value);
    send();
  };
  clearTimeout(state.waiting);
  state.waiting = undefined;
  if (state.wanted === undefined) {
    input.value = data.index;
    output.textContent = data.texts[data.index];
    input.setAttribute("aria-valuetext", data.texts[data.index]);
  }
  send();
}
