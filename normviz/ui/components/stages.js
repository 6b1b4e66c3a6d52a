// What a scheme does to the tensor, played stage by stage in the cube itself: cells move to where their stage has them,
// and take its colours. The position is a number of stages, with what is between two of them behind the point.

const MOVE = 1100, REST = 1500;                  // ms from stage to stage, and at each
const ICONS = {
  play: '<path d="M4 2l10 6-10 6z"/>', pause: '<path d="M3 2h4v12H3zM9 2h4v12H9z"/>',
  back: '<path d="M2 2h2v12H2zM14 2v12L5 8z"/>', step: '<path d="M12 2h2v12h-2zM2 2v12l9-6z"/>',
  close: '<path d="M3 2l5 4.6L13 2l1 1-4.6 5L14 13l-1 1-5-4.6L3 14l-1-1 4.6-5L2 3z"/>',
};
const still = matchMedia("(prefers-reduced-motion: reduce)");
const between = (a, b, share) => a + (b - a) * share;

// Where cells are, and their levels, at a position.
function staged({ list, places, looks, band }, position) {
  const from = list[Math.floor(position)], to = list[Math.min(Math.floor(position) + 1, list.length - 1)];
  const part = position - Math.floor(position), share = part * part * (3 - 2 * part);
  const [a, b] = [places[from.place], places[to.place]];
  const offsets = a === b ? a.offsets : a.offsets.map((offset, axis) => offset.map((at, i) =>
    [0, 1, 2].map((d) => between(at[d], b.offsets[axis][i][d], share))));
  const levels = new Float32Array(from.values.length), done = to.slides && part > 0 ? part * levels.length : null;
  const level = (value, { largest }) => (Number.isFinite(value) ? (value / largest + 1) / 2 * (255 - band) + band : 0);
  for (let cell = 0; cell < levels.length; cell++) {
    const [before, after] = [level(from.values[cell], looks[from.look]), level(to.values[cell], looks[to.look])];
    levels[cell] = done === null ? between(before, after, share) : cell < done ? after : before;
  }
  const size = [0, 1, 2].map((d) => between(a.size[d], b.size[d], share));
  return { offsets, size, levels, look: looks[(part > 0 ? to : from).look].trace, sliding: done && Math.floor(done) };
}

class Stages {
  // `show` is called with a position, or null for the picture as it is otherwise.
  constructor(root, show) {
    this.root = root;
    this.show = show;
    this.position = null;
  }

  build() {
    const { root } = this;
    root.innerHTML = `<p aria-live="polite"></p><div role="group" aria-label="Watch it happen">
      <button type="button" class="play"></button>
      ${["back", "step"].map((name) => `<button type="button" class="${name}"></button>`).join("")}
      <input type="range" min="0" step="0.05" aria-label="Stage">
      <button type="button" class="close"></button></div>`;
    this.parts = Object.fromEntries(["p", "div", "input", ".play", ".back", ".step", ".close"]
      .map((name) => [name.replace(".", ""), root.querySelector(name)]));
    const { play, back, step, close, input } = this.parts;
    play.onclick = () => (this.playing ? this.pause() : this.play());
    back.onclick = () => this.go(Math.ceil(this.position ?? 0) - 1);
    step.onclick = () => this.go(this.position === null ? 0 : Math.floor(this.position) + 1);
    close.onclick = () => this.go(null);
    input.oninput = () => this.go(Number(input.value));
    this.label(back, "back", "Back");
    this.label(step, "step", "Step");
    this.label(close, "close", "Close");
  }

  label(button, icon, name, text = "") {
    button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">${ICONS[icon]}</svg>`;
    button.append(text);
    button.setAttribute("aria-label", text || name);
    button.title = name;
  }

  // Other stages than before: the position stays as far as there is one.
  take(stages, why) {
    this.stages = stages;
    this.root.hidden = !stages && !why;
    if (this.root.hidden && !this.parts) return;
    if (!this.parts) this.build();
    this.parts.div.hidden = !stages;
    if (!stages) {
      this.pause();
      this.position = null;
      this.parts.p.textContent = why ?? "";
      this.light();
      return;
    }
    this.parts.input.max = stages.list.length - 1;
    if (this.position !== null) this.position = Math.min(this.position, stages.list.length - 1);
    this.tell();
  }

  get last() { return this.stages.list.length - 1; }

  go(position) {
    this.pause();
    this.set(position === null ? null : Math.min(Math.max(position, 0), this.last));
  }

  set(position) {
    this.position = position;
    this.tell();
    this.show(position);
  }

  play() {
    this.playing = true;
    if (this.position === null || this.position >= this.last) this.set(0);
    this.rest = REST;
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const passed = Math.min(now - before, 100);      // a page that was hidden goes on where it was
      before = now;
      if (this.rest > 0) this.rest -= passed;
      else {
        const end = Math.floor(this.position) + 1;
        const next = still.matches ? end : Math.min(this.position + passed / MOVE, end);
        if (next === end) this.rest = REST;
        if (next >= this.last) this.playing = false;
        this.set(next);
      }
      if (this.playing) requestAnimationFrame(tick);
    };
    this.tell();
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.tell();
  }

  // The sentence of what is reached or on its way, the buttons, and the formula that says the same.
  tell() {
    const { p, play, back, step, close, input } = this.parts, on = this.position !== null;
    const stage = on ? this.stages.list[Math.ceil(this.position)] : null;
    const text = on ? `${Math.ceil(this.position) + 1} / ${this.last + 1}  ${stage.says}`
      : "See how it is computed: the tensor collapses to its statistics, and comes back normalized.";
    if (p.textContent !== text) p.textContent = text;
    const [icon, name] = this.playing ? ["pause", "Pause"] : ["play", on ? "Play" : "Watch it happen"];
    if (play.title !== name) this.label(play, icon, name, on ? "" : name);
    for (const part of [back, step, close, input]) part.hidden = !on;
    back.disabled = on && this.position <= 0;
    step.disabled = on && this.position >= this.last;
    input.value = this.position ?? 0;
    input.setAttribute("aria-valuetext", stage?.says ?? "");
    this.root.classList.toggle("nv-on", on);
    this.light(stage?.line);
  }

  light(line) {
    for (const formula of document.querySelectorAll('[class*="st-key-line-"]')) {
      formula.classList.toggle("nv-lit", Boolean(line) && formula.classList.contains(`st-key-line-${line}`));
    }
  }
}
