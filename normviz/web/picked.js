// Opens the sidebar, which covers a phone's screen, and closes it when one of several schemes has been chosen there.

import { latest } from "./data.js";

const NARROW = "(max-width: 768px)"; // where Streamlit starts with its sidebar closed
const ONE = '.st-key-scheme [data-variant="pills"]';

// On a phone the menu stands above the controls, and may fill the screen.
function pastTheMenu() {
  const sidebar = document.querySelector('[data-testid="stSidebarContent"]');
  const controls = sidebar?.querySelector('[data-testid="stSidebarUserContent"]');
  if (controls) sidebar.scrollTop += controls.getBoundingClientRect().top - sidebar.getBoundingClientRect().top;
}

export default function ({ data: sent, parentElement }) {
  const root = parentElement.querySelector(".nv-picked");
  const data = latest(root, sent);
  if (!data) return;
  root.firstElementChild.textContent = data.text;
  root.setAttribute("aria-label", `Change what is picked: ${data.text}`);
  root.onclick = () => {
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.click();
    setTimeout(pastTheMenu, 150);
  };
  root.closes?.abort();
  root.closes = new AbortController();
  // Before Streamlit's own listeners, which keep a click to themselves; after what they do.
  document.addEventListener(
    "click",
    ({ target }) => {
      if (!root.isConnected || !matchMedia(NARROW).matches || !target.closest?.(ONE)) return;
      setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click(), 150);
    },
    { capture: true, signal: root.closes.signal },
  );
}
