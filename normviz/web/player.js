const ICONS = {
  play: '<path d="M4 2l10 6-10 6z"/>',
  pause: '<path d="M3 2h4v12H3zM9 2h4v12H9z"/>',
  back: '<path d="M2 2h2v12H2zM14 2v12L5 8z"/>',
  step: '<path d="M12 2h2v12h-2zM2 2v12l9-6z"/>',
  close: '<path d="M3 2l5 4.6L13 2l1 1-4.6 5L14 13l-1 1-5-4.6L3 14l-1-1 4.6-5L2 3z"/>',
};
export const still = matchMedia("(prefers-reduced-motion: reduce)");

export function label(button, icon, name, text = "") {
  if (button.title === name) return;
  button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">${ICONS[icon]}</svg>`;
  button.append(Object.assign(document.createElement("span"), { textContent: text }));
  button.setAttribute("aria-label", text || name);
  button.title = name;
}

export class Player {
  position = null;

  // Fills an element with the controls: what they play, and what the slider is over.
  build(bar, group, slider, unit) {
    bar.classList.add("nv-player");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", group);
    bar.innerHTML = `${["play", "back", "step"].map((name) => `<button type="button" class="${name}"></button>`).join("")}
      <input type="range" min="0" step="${unit}" aria-label="${slider}">`;
    const [play, back, step, input] = bar.children;
    this.parts = { bar, play, back, step, input };
    play.onclick = () => (this.playing ? this.pause() : this.play());
    back.onclick = () => this.go(Math.ceil(this.position ?? 0) - 1);
    step.onclick = () => this.go(this.position === null ? 0 : Math.floor(this.position) + 1);
    input.oninput = () => this.go(Number(input.value));
    label(back, "back", "Back", "Back");
    label(step, "step", "Step", "Step");
  }

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
    let before = performance.now();
    const tick = (now) => {
      if (!this.playing) return;
      const next = this.next(this.position, Math.min(now - before, 100)); // a page that was hidden goes on where it was
      before = now;
      if (next >= this.last) this.playing = false;
      if (next !== this.position) this.set(next);
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

  // The controls as they are at the position; `start`: what the first button says `before` it has been pressed.
  tell(start, says, before = this.position === null) {
    const { play, back, step, input } = this.parts;
    const on = this.position !== null;
    const [icon, name] = this.playing ? ["pause", "Pause"] : ["play", before ? start : "Play"];
    label(play, icon, name, name === start ? name : "");
    for (const part of [back, step, input]) part.hidden = !on;
    back.disabled = on && this.position <= 0;
    step.disabled = on && this.position >= this.last;
    input.max = this.last;
    input.value = this.position ?? 0;
    input.setAttribute("aria-valuetext", says);
  }
}
