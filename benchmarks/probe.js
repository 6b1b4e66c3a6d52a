// Runs before a page's own scripts and tells when what was asked for is on the screen. All times are in ms
// since the navigation began, on the clock of performance.now() and of event.timeStamp.
(() => {
  /**
   * A graph with a scene of Plotly.
   *
   * @typedef {Element & {_fullLayout?: {scene?: {_scene?: {
   *   glplot: {gl: WebGLRenderingContext},
   *   traces: Record<string, {data?: {name?: string, intensity: ArrayLike<number>}}>,
   * }}}}} Graph
   */

  /** @typedef {{graph: Graph, gl: WebGLRenderingContext, piece: string}} Scene */

  /**
   * What is waited for.
   *
   * @typedef {object} Job
   * @property {() => number | null} start when it was asked for
   * @property {(found: object) => void} resolve
   * @property {() => boolean} ready whether a drawing may be looked at
   * @property {(found: Scene) => boolean} [drawn] whether a scene shows it
   * @property {Graph} [graph] that should show it
   * @property {boolean} [queued]
   */

  /** @typedef {{react: (...given: unknown[]) => Promise<unknown>, timed?: boolean}} Library Plotly */

  const now = () => performance.now();
  /** @type {Job | null} */
  let waiting = null;
  let frame = 0; // when the current frame began
  /** @type {[time: number, bytes: number][]} */
  const messages = [];
  /** @type {[begin: number, end: number][]} */
  const reacts = [];

  // The scene that shows the cube, and a piece of what its mesh was last given: another seed, another piece.
  function scene() {
    /** @type {NodeListOf<Graph>} */
    const graphs = document.querySelectorAll(".js-plotly-plot");
    for (const graph of graphs) {
      const { _scene } = graph._fullLayout?.scene ?? {};
      const mesh = _scene && Object.values(_scene.traces).find((trace) => trace.data?.name === "cells")?.data;
      if (mesh)
        return { graph, gl: _scene.glplot.gl, piece: Array.prototype.slice.call(mesh.intensity, 0, 512).join() };
    }
    return null;
  }

  // The frame after the one that drew, once the graphics card (or its stand-in) has finished: readPixels waits for it.
  /**
   * @param {Job} job
   * @param {WebGLRenderingContext | null} gl
   * @param {{drawn: number, same?: boolean}} marks
   */
  function finish({ start, resolve }, gl, marks) {
    waiting = null;
    requestAnimationFrame(() => {
      if (gl) {
        const bound = gl.getParameter(gl.FRAMEBUFFER_BINDING);
        gl.bindFramebuffer(gl.FRAMEBUFFER, null);
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
        gl.bindFramebuffer(gl.FRAMEBUFFER, bound);
      }
      resolve({ start: start(), ...marks, done: now() });
    });
  }

  function looked() {
    const job = waiting;
    const found = job?.drawn && scene();
    if (found && job.drawn?.(found)) finish(job, found.gl, { drawn: now(), same: found.graph === job.graph });
  }

  // Look at the scene after all draw calls of this frame.
  function queueLook() {
    const job = waiting;
    if (!job?.drawn || job.queued || !job.ready()) return;
    job.queued = true;
    queueMicrotask(() => {
      job.queued = false;
      if (job === waiting) looked();
    });
  }

  for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
    const { drawArrays, drawElements } = prototype;
    prototype.drawArrays = function (...given) {
      drawArrays.apply(this, given);
      queueLook();
    };
    prototype.drawElements = function (...given) {
      drawElements.apply(this, given);
      queueLook();
    };
  }

  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    /** @param {ConstructorParameters<typeof WebSocket>} given */
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data }) =>
        messages.push([now(), data.byteLength ?? data.size ?? data.length]),
      );
    }
  };

  function wrapReact() {
    const { Plotly } = /** @type {Window & {Plotly?: Library}} */ (window);
    if (!Plotly || Plotly.timed) return;
    const { react } = Plotly;
    Plotly.timed = true;
    Plotly.react = async (...given) => {
      const begin = now();
      const value = await react(...given);
      reacts.push([begin, now()]);
      return value;
    };
  }

  /**
   * @param {Job["start"]} start
   * @param {Partial<Job>} more
   */
  function wait(start, more) {
    for (const list of [messages, reacts]) list.length = 0;
    return new Promise((resolve) => {
      waiting = { start, resolve, ready: () => true, ...more };
    });
  }

  /**
   * Return a function that says when the next event of this type came; null before it.
   *
   * @param {"keydown" | "pointermove"} type
   */
  function watch(type) {
    /** @type {number | null} */
    let at = null;
    addEventListener(
      type,
      (event) => {
        at = event.timeStamp;
      },
      { capture: true, once: true },
    );
    return () => at;
  }

  const probe = {
    messages,
    reacts,

    // From the navigation to the first cube.
    result: wait(() => 0, { drawn: () => true }),

    stop() {
      waiting = null;
    },

    // From a key press to the cube with other values.
    key() {
      wrapReact();
      const before = scene();
      if (!before) throw new Error("there is no cube");
      const { graph, piece } = before;
      probe.result = wait(watch("keydown"), { graph, drawn: (found) => found.piece !== piece });
    },

    // From a key press to another text.
    echo() {
      const text = () => document.querySelector(".st-key-echo")?.textContent;
      const before = text();
      probe.result = wait(watch("keydown"), {});
      const observer = new MutationObserver(() => {
        if (text() === before) return;
        observer.disconnect();
        requestAnimationFrame(() => {
          if (waiting) finish(waiting, null, { drawn: now() });
        });
      });
      observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    },

    // From a move of the pointer to the highlight of another cell, which is drawn after its values are told.
    hover() {
      const at = watch("pointermove");
      const readout = document.querySelector(".st-key-cube .nv-readout");
      const before = readout?.textContent;
      const ready = () => at() !== null && readout?.textContent !== before;
      probe.result = wait(at, { ready, drawn: () => true });
    },

    // Frames a second in which the scene was drawn, over some time.
    /** @param {number} seconds */
    play: (seconds) =>
      new Promise((resolve) => {
        const start = now();
        /** @type {number[]} */
        const times = [];
        probe.result = wait(() => start, {
          drawn: () => {
            if (times.at(-1) !== frame) times.push(frame);
            return false;
          },
        });
        /** @param {number} at */
        const tick = (at) => {
          frame = at;
          if (at - start < 1000 * seconds) return requestAnimationFrame(tick);
          waiting = null;
          const steps = times
            .slice(1)
            .map((time, n) => time - times[n])
            .filter((step) => step < 1000); // no rests
          resolve({ frames: steps.length, ms: steps.reduce((sum, step) => sum + step, 0) });
        };
        requestAnimationFrame(tick);
      }),
  };
  Object.assign(window, { probe });
})();
