// A list that the browser and the server both set. The server's new value is right, unless it repeats a value that was
// set here before a newer one.

import { isSameList } from "./indices.js";

/** @template {unknown[]} T */
export class SharedList {
  /** @type {T[]} */
  sent = [];
  /** @type {T | null | undefined} */
  value;
  /** @type {T | null | undefined} */
  received;

  /** @param {T} value */
  set(value) {
    this.value = value;
    this.sent.push(value);
  }

  /**
   * Store the server's value; return true if the value changes.
   * @param {T | null} value
   */
  take(value) {
    if (isSameList(value, this.received)) return false; // sent by a run that does not know the browser's value yet
    this.received = value;
    const echo = this.sent.findIndex((each) => isSameList(each, value));
    this.sent = echo < 0 ? [] : this.sent.slice(echo + 1);
    if (this.sent.length || isSameList(value, this.value)) return false;
    this.value = value;
    return true;
  }
}
