// A list that the browser and the server both set. What the server says anew is right, unless it is the echo of what was
// set here before something newer.

import { same } from "./indices.js";

export class Shared {
  sent = [];

  set(value) {
    this.value = value;
    this.sent.push(value);
  }

  // Whether the server's is another one.
  take(value) {
    if (same(value, this.told)) return false; // the run of something else, which has not heard of ours yet
    this.told = value;
    const echo = this.sent.findIndex((each) => same(each, value));
    this.sent = echo < 0 ? [] : this.sent.slice(echo + 1);
    if (this.sent.length || same(value, this.value)) return false;
    this.value = value;
    return true;
  }
}
