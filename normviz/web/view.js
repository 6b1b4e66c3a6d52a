// The view of a cube: its camera, its gaps and its cuts. The link holds all three.

import { isSameList } from "./indices.js";
import { SharedList } from "./shared.js";

/** @import {View} from "./messages.d.ts" */

/** @typedef {keyof View} Part */

const PAUSE = 400; // ms without another change of gaps or cut before they are sent

export class SharedView {
  /** @type {{camera: SharedList<number[]>, gaps: SharedList<string[]>, cut: SharedList<number[]>}} */
  parts = { camera: new SharedList(), gaps: new SharedList(), cut: new SharedList() };
  /** @type {Part[]} */
  linked = [];
  timer = 0;

  /** @param {(view: Record<string, unknown>) => void} send */
  constructor(send) {
    this.send = send;
  }

  /** Return the parts of the view that the link holds. */
  get values() {
    return Object.fromEntries(this.linked.map((each) => [each, this.parts[each].value]));
  }

  get camera() {
    return this.parts.camera.value ?? [];
  }

  get gaps() {
    return this.parts.gaps.value ?? [];
  }

  get cut() {
    return this.parts.cut.value ?? [];
  }

  /**
   * Store the parts of the view from the server; return true if the camera turns.
   * @param {View} view
   */
  take({ camera, gaps, cut }) {
    const sent = { camera, gaps, cut };
    this.linked = /** @type {Part[]} */ (Object.keys(sent)).filter((name) => sent[name]);
    if (gaps) this.parts.gaps.take(gaps);
    if (cut) this.parts.cut.take(cut);
    return camera !== undefined && this.parts.camera.take(camera);
  }

  /**
   * Set a part and send all parts later; return true if its value is new.
   * @template {Part} Name
   * @param {Name} name
   * @param {Required<View>[Name]} value
   */
  set(name, value) {
    const part = /** @type {SharedList<Required<View>[Name]>} */ (/** @type {unknown} */ (this.parts[name]));
    if (isSameList(value, part.value)) return false;
    part.set(value);
    clearTimeout(this.timer);
    this.timer = setTimeout(
      () => {
        this.send({ ...this.values, at: Date.now() }); // the time makes equal values news
      },
      name === "camera" ? 0 : PAUSE,
    );
    return true;
  }
}
