// The entry of a component whose element has one object that draws it.

/** @import {Given, SetValue} from "./component.d.ts" */

import { readLatest } from "./data.js";
import { find } from "./dom.js";

/**
 * Return a component's default export: it creates the element's object at the first message and then updates it.
 * @template D
 * @param {string} selector of the element
 * @param {new (root: HTMLElement, data: D, send: SetValue) =>
 *   {update(data: D, send: SetValue, packed: Uint8Array): unknown}} Drawer
 */
export function mount(selector, Drawer) {
  /** @type {WeakMap<HTMLElement, InstanceType<typeof Drawer>>} */
  const drawers = new WeakMap();

  /** @param {Given} given */
  return ({ data: sent, parentElement, setStateValue }) => {
    const root = find(parentElement, selector, HTMLElement);
    /** @type {D | null} */
    const data = readLatest(root, sent);
    if (!data) return;
    const drawer = drawers.get(root) ?? new Drawer(root, data, setStateValue);
    drawers.set(root, drawer);
    drawer.update(data, setStateValue, sent.subarray(8)); // behind the number of the turn
  };
}
