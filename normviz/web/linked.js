// What stands beside a cube follows it and leads it, without the server: components tell each other by events of the
// document. "nv-element" {index, by}: an element is shown, by the "lock", the "pointer" or a moving "window".
// "nv-lock" {index}: it is to be locked. "nv-part" {part}: the elements of a statistic are to be lit, "mean" or
// "divides"; null: no more.

/** @import {Index} from "./component.d.ts" */

/**
 * The details of the events by their names.
 * @typedef {object} Details
 * @property {{index: Index, by?: string}} nv-element
 * @property {{index: Index}} nv-lock
 * @property {{part: string | null}} nv-part
 */

/**
 * Send an event to the components of the page.
 * @template {keyof Details} Name
 * @param {Name} name
 * @param {Details[Name]} detail
 */
export const sendEvent = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

/**
 * Call a function with the details of all events of a name, while the root is on the page.
 * @template {keyof Details} Name
 * @param {Element} root
 * @param {Name} name
 * @param {(detail: Details[Name]) => void} take
 */
export function listenToEvent(root, name, take) {
  /** @param {Event} event */
  const heard = (event) => {
    if (!root.isConnected) document.removeEventListener(name, heard);
    else if (event instanceof CustomEvent) take(event.detail);
  };
  document.addEventListener(name, heard);
}

/**
 * Return the cell of an element in a heat map of statistics, as [column, row]: the first two of four axes run down, the
 * others across.
 * @param {Index} index of the element
 * @param {number[]} shape of the statistics
 * @param {number[]} of shape of the tensor
 * @returns {[number, number]}
 */
export function findStatistic(index, shape, of) {
  const [n, h, w, c] = index.map((i, axis) => Math.floor((i * shape[axis]) / of[axis]));
  return [w * shape[3] + c, n * shape[1] + h];
}
