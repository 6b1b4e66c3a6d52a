// Tells the server once that a place of the page has come into sight: what stands there is computed only then.

import { find } from "./dom.js";

/** @import {Given} from "./component.d.ts" */

const MARGIN = 80; // pixels of the place that have to be in the window
const PAUSE = 300; // ms until a place that is in sight is looked at again
const UNDRAWN = ".nv-plot:not([data-drawn])"; // a figure that still has to take its room above the place

/** @type {WeakSet<HTMLElement>} */
const watched = new WeakSet();

/** @param {Given} given */
export default function ({ parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-sight", HTMLElement);
  if (watched.has(root)) return;
  watched.add(root);
  let timer = 0;
  let wasInSight = false;
  const isInSight = () => root.isConnected && root.getBoundingClientRect().top < window.innerHeight - MARGIN;
  function look() {
    const isStill = isInSight() && !document.querySelector(UNDRAWN);
    if (isStill && wasInSight) {
      observer.disconnect();
      setStateValue("seen", true);
    } else if (isInSight()) {
      timer = window.setTimeout(look, PAUSE);
    }
    wasInSight = isStill;
  }
  const observer = new IntersectionObserver(() => {
    window.clearTimeout(timer);
    look();
  });
  observer.observe(root);
}
