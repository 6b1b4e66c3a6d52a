// Runs before a page's own scripts and tells when what was asked for is on the screen. All times are in ms
// since the navigation began, on the clock of performance.now() and of event.timeStamp.
(() => {
  const probe = { messages: [], reacts: [], result: null };
  window.probe = probe;
  const now = () => performance.now();
  let waiting = null;

  // The scene that shows the cube, and a piece of what its mesh was last given: another seed, another piece.
  function scene() {
    for (const graph of document.querySelectorAll(".js-plotly-plot")) {
      const { _scene } = graph._fullLayout?.scene ?? {};
      const mesh = _scene && Object.values(_scene.traces).find((trace) => trace.data?.name === "cells");
      if (mesh)
        return { graph, gl: _scene.glplot.gl, piece: Array.prototype.slice.call(mesh.data.intensity, 0, 512).join() };
    }
    return null;
  }

  // The frame after the one that drew, once the graphics card (or its stand-in) has finished: readPixels waits for it.
  function finish(gl, marks) {
    const { start, resolve } = waiting;
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
    const found = waiting?.drawn && scene();
    if (found && waiting.drawn(found)) finish(found.gl, { drawn: now(), same: found.graph === waiting.graph });
  }

  for (const { prototype } of [WebGLRenderingContext, WebGL2RenderingContext]) {
    for (const name of ["drawArrays", "drawElements"]) {
      const plain = prototype[name];
      prototype[name] = function (...args) {
        plain.apply(this, args);
        if (!waiting?.drawn || waiting.queued || !waiting.ready()) return;
        const job = waiting;
        job.queued = true; // after all draw calls of this frame
        queueMicrotask(() => {
          job.queued = false;
          if (job === waiting) looked();
        });
      };
    }
  }

  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", ({ data }) =>
        probe.messages.push([now(), data.byteLength ?? data.size ?? data.length]),
      );
    }
  };

  function wrapReact() {
    const { Plotly } = window;
    if (!Plotly || Plotly.timed) return;
    const { react } = Plotly;
    Plotly.timed = true;
    Plotly.react = async (...args) => {
      const begin = now();
      const value = await react(...args);
      probe.reacts.push([begin, now()]);
      return value;
    };
  }

  function wait(start, more) {
    for (const list of [probe.messages, probe.reacts]) list.length = 0;
    probe.result = new Promise((resolve) => {
      waiting = { start, resolve, ready: () => true, ...more };
    });
  }

  function keydown() {
    let at = null;
    addEventListener(
      "keydown",
      (event) => {
        at = event.timeStamp;
      },
      { capture: true, once: true },
    );
    return () => at;
  }

  probe.stop = () => {
    waiting = null;
  };

  // From a key press to the cube with other values.
  probe.key = () => {
    wrapReact();
    const { graph, piece } = scene();
    wait(keydown(), { graph, drawn: (found) => found.piece !== piece });
  };

  // From a key press to another text.
  probe.echo = () => {
    const text = () => document.querySelector(".st-key-echo")?.textContent;
    const before = text();
    wait(keydown(), {});
    const observer = new MutationObserver(() => {
      if (text() === before) return;
      observer.disconnect();
      requestAnimationFrame(() => finish(null, { drawn: now() }));
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  };

  // From a move of the pointer to the highlight of another cell, which is drawn after its values are told.
  probe.hover = () => {
    let at = null;
    addEventListener(
      "pointermove",
      (event) => {
        at = event.timeStamp;
      },
      { capture: true, once: true },
    );
    const readout = document.querySelector(".st-key-cube .nv-readout");
    const before = readout.textContent;
    wait(() => at, { ready: () => at !== null && readout.textContent !== before, drawn: () => true });
  };

  // Frames a second in which the scene was drawn, over some time.
  probe.play = (seconds) =>
    new Promise((resolve) => {
      const start = now();
      const times = [];
      wait(() => start, {
        drawn: () => {
          if (times.at(-1) !== probe.frame) times.push(probe.frame);
          return false;
        },
      });
      const tick = (at) => {
        probe.frame = at;
        if (at - start < 1000 * seconds) return requestAnimationFrame(tick);
        waiting = null;
        const steps = times
          .slice(1)
          .map((time, n) => time - times[n])
          .filter((step) => step < 1000); // no rests
        resolve({ frames: steps.length, ms: steps.reduce((sum, step) => sum + step, 0) });
      };
      requestAnimationFrame(tick);
    });

  wait(() => 0, { drawn: () => true }); // from the navigation to the first cube
})();
