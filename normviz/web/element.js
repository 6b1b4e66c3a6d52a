// One element of a tensor in words and numbers: the one that the cube shows, which tells by "nv-element".

import { latest, typeset } from "./data.js";
import { hear, tell } from "./linked.js";
import { Strip } from "./strip.js";

const shownBy = new WeakMap();

// The number of an element: it has the place of its statistic in `values`.
export const of = ({ values, shape }, index, all) =>
  values[index.reduce((flat, i, axis) => flat * shape[axis] + Math.floor((i * shape[axis]) / all[axis]), 0)];

// The words for the box of an element: normviz/describe/wording.py, `field_words`.
function fieldWords({ bounds, ranges }, words, index, shape) {
  const whole = [];
  const rest = [];
  let count = 1;
  ranges.forEach((said, axis) => {
    if (!said) return; // an axis of length 1
    const [all, one, several] = said;
    const [lo, hi] = bounds[axis][index[axis]];
    count *= hi - lo;
    if (hi - lo === shape[axis] && all) whole.push(all);
    else rest.push((hi - lo === 1 ? one : several).replace("{lo}", lo).replace("{last}", hi - 1));
  });
  const put = (name, ...parts) => words[name].replaceAll("{}", () => parts.shift());
  const parts = [...(whole.length ? [put("all", whole.join(", "))] : []), ...(rest.length ? [rest.join(", ")] : [])];
  const where = parts.length === 2 ? put("of", ...parts) : parts[0];
  return put(count === 1 ? "one" : "several", count.toLocaleString("en-US"), where);
}

class Element {
  constructor(root) {
    this.root = root;
    this.parts = Object.fromEntries(
      ["where", "indices", "statistics", "lines", "strip"].map((name) => [name, root.querySelector(`.nv-${name}`)]),
    );
    this.strip = new Strip(this.parts.strip);
    // A line that was broken for one element keeps its height for the next, or what is below would jump.
    this.heights = new ResizeObserver((lines) => {
      for (const { target } of lines) {
        if (this.width !== root.clientWidth) target.style.minHeight = "";
        target.style.minHeight = `${target.offsetHeight}px`;
      }
      this.width = root.clientWidth;
    });
    hear(root, "nv-element", ({ index, by }) => {
      this.heard = index;
      if (by === "lock") this.lock = index;
      if (this.data) this.show();
    });
    // What the pointer is on, what has the keyboard's focus, and what was pressed, until it is pressed again.
    const part = ({ target }) => target.closest?.("[data-part]")?.dataset.part ?? null;
    root.addEventListener("pointerover", (e) => e.pointerType !== "touch" && this.light({ pointed: part(e) }));
    root.addEventListener("pointerleave", () => this.light({ pointed: null }));
    root.addEventListener("focusin", (e) =>
      this.light({ focused: e.target.matches(":focus-visible") ? part(e) : null }),
    );
    root.addEventListener("focusout", () => this.light({ focused: null }));
    root.addEventListener(
      "click",
      (e) => part(e) && this.light({ pressed: this.pressed === part(e) ? null : part(e) }),
    );
  }

  light(change) {
    Object.assign(this, change);
    const part = this.pointed ?? this.focused ?? this.pressed ?? null;
    for (const button of this.parts.statistics.children) {
      button.setAttribute("aria-pressed", String(this.pressed === button.dataset.part));
    }
    if (part === (this.root.dataset.lit || null)) return;
    this.root.dataset.lit = part ?? "";
    tell("nv-part", { part });
    if (this.strip.index) this.strip.mark(this.strip.index, part);
  }

  update({ data, setStateValue }) {
    this.data = data;
    this.setStateValue = setStateValue;
    this.lock = data.focus;
    for (const [name, colour] of Object.entries(data.colours)) this.root.style.setProperty(`--${name}`, colour);
    this.build(
      "where",
      data.fields.map(({ part, what }) => `<p${part ? ` data-part="${part}"` : ""}><b></b> – ${what}.</p>`).join("") +
        `<p>${data.says}</p>`,
    );
    this.build(
      "indices",
      data.axes
        .map(
          ([letter, last], axis) =>
            `<label>${letter}<input type="number" inputmode="numeric" min="0" max="${last}" data-axis="${axis}"
        aria-label="${letter}" title="0 to ${last}"></label>`,
        )
        .join(""),
    );
    this.build(
      "statistics",
      data.statistics
        .map(
          ({ name, forms }) =>
            `<button type="button" data-part="${name}" aria-pressed="false" title="Lights its elements in the cube">${this.forms(
              forms,
            )}</button>`,
        )
        .join(""),
    );
    this.build(
      "lines",
      data.lines
        .map(({ name, forms }) => `<div class="nv-line st-key-line-${name}">${this.forms(forms)}</div>`)
        .join(""),
    );
    const parts = data.statistics.map(({ name }) => name);
    const still = (part) => (parts.includes(part) ? part : null);
    this.light({ pointed: still(this.pointed), focused: still(this.focused), pressed: still(this.pressed) });
    this.strip.take(data);
    this.show();
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  forms(forms) {
    return forms
      .map((sides) => `<span>${sides.map((side) => `<math displaystyle="true">${side}</math>`).join(" ")}</span>`)
      .join("");
  }

  // What does not change stays, and with it what is lit, focused or being typed.
  build(name, markup) {
    if (this[`${name}Built`] === markup) return;
    this[`${name}Built`] = markup;
    const part = this.parts[name];
    const lit = [...part.querySelectorAll(".nv-lit")].map(({ className }) => className);
    part.innerHTML = markup;
    for (const line of name === "indices" ? [] : part.children) this.heights.observe(line);
    for (const line of part.children) if (lit.includes(`${line.className} nv-lit`)) line.classList.add("nv-lit");
    for (const input of part.querySelectorAll("input")) {
      input.oninput = () => {
        input.dataset.typed = "";
      };
      input.onblur = () => {
        delete input.dataset.typed;
        this.show();
      };
      input.onchange = () => {
        delete input.dataset.typed;
        this.fix(Number(input.dataset.axis), Number(input.value));
      };
    }
  }

  // Lock another index along an axis: in the cube at once, and with the server.
  fix(axis, value) {
    const index = [...this.lock];
    const last = this.data.axes[axis][1];
    if (Number.isFinite(value)) index[axis] = Math.max(0, Math.min(Math.round(value), last));
    this.lock = this.heard = index;
    tell("nv-lock", { index });
    this.show();
    this.setStateValue("focus", [...index, Date.now()]); // news also where it was locked before
  }

  show() {
    const { data } = this;
    const { shape, numbers } = data;
    const fits = this.heard?.every((i, axis) => i < shape[axis]);
    const index = fits ? this.heard : data.focus;
    data.fields.forEach((field, k) => {
      this.parts.where.children[k].firstChild.textContent = fieldWords(field, data.words, index, shape);
    });
    for (const input of this.parts.indices.querySelectorAll("input")) {
      if (!("typed" in input.dataset)) input.value = index[input.dataset.axis];
    }
    const form = numbers.form ? of(numbers.form, index, shape) : 0;
    for (const line of [...this.parts.statistics.children, ...this.parts.lines.children]) {
      [...line.children].forEach((span, k, all) => {
        span.hidden = all.length > 1 && k !== form;
      });
    }
    for (const place of this.root.querySelectorAll("[data-number]")) {
      const { number, bracketed } = place.dataset;
      const axis = ["n", "h", "w", "c"].indexOf(number);
      const text = typeset(axis < 0 ? of(numbers[number], index, shape) : index[axis], 4);
      const written = bracketed !== undefined && text.startsWith("−") ? `(${text})` : text;
      if (place.textContent !== written) place.textContent = written;
    }
    for (const button of this.parts.statistics.children) {
      // not every reader reads mathematics on a button
      button.setAttribute("aria-label", button.querySelector("span:not([hidden])").textContent);
    }
    this.strip.mark(index);
  }
}

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-element");
  const data = latest(root, sent);
  if (!data) return;
  if (!shownBy.has(root)) shownBy.set(root, new Element(root));
  shownBy.get(root).update({ data, setStateValue });
}
