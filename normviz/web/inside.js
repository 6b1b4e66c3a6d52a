// What shows the inside of a cube: gaps that pull it apart along an axis, or between fields, and sliders that cut away
// the first indices of an axis.

import { breaksOf, NAMES } from "./cells.js";

export class Inside {
  // `change` is called with what is changed, "gaps" or "cut", and its new value.
  constructor(root, change) {
    this.root = root;
    this.change = change;
  }

  // What there is to be pulled apart and cut, and how far it is; null for none.
  take(now) {
    this.now = now;
    const { hover } = now ?? {};
    const words = now ? ["fields", ...NAMES] : [];
    const parts = words.filter((word) =>
      breaksOf(hover, [word]).some((all, axis) => all.length && !hover.dimensions[3].includes(axis)),
    ); // blocks stand apart as they are
    const cuts = [0, 1, 2, 3].filter((axis) => hover?.shape[axis] > 1);
    this.root.hidden = !parts.length && !cuts.length;
    const made = JSON.stringify([parts, cuts, now?.axes, hover?.shape]);
    if (made !== this.made) this.build(parts, cuts);
    this.made = made;
    for (const button of this.root.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", now.gaps.includes(button.dataset.part));
    }
    for (const label of this.root.querySelectorAll("label")) this.tell(label, now.cut[label.dataset.axis]);
  }

  build(parts, cuts) {
    const { axes, hover } = this.now ?? {};
    const name = (part) => (part === "fields" ? "Fields" : axes[NAMES.indexOf(part)]);
    const row = (title, inner) =>
      inner ? `<div role="group" aria-label="${title}"><span>${title}</span>${inner}</div>` : "";
    const button = (part) => `<button type="button" data-part="${part}">${name(part)}</button>`;
    const slider = (
      axis,
    ) => `<label data-axis="${axis}"><span></span><input type="range" min="0" max="${hover.shape[axis] - 1}"
      aria-label="Cut away along ${axes[axis]}"></label>`;
    this.root.innerHTML = row("Pull apart", parts.map(button).join("")) + row("Cut away", cuts.map(slider).join(""));
    for (const each of this.root.querySelectorAll("button")) each.onclick = () => this.press(each.dataset.part);
    for (const label of this.root.querySelectorAll("label")) {
      label.lastChild.oninput = ({ target }) => {
        const cut = this.now.cut.map((v, axis) => (axis === Number(label.dataset.axis) ? Number(target.value) : v));
        this.change("cut", cut);
      };
    }
  }

  press(part) {
    const { gaps } = this.now;
    const pressed = ["fields", ...NAMES].filter((each) => gaps.includes(each) !== (each === part));
    this.change("gaps", pressed);
  }

  tell(label, cut) {
    const { axes, names } = this.now;
    const { axis } = label.dataset;
    const [text, input] = label.children;
    input.value = cut;
    text.textContent = cut ? `${names[axis]} < ${cut}` : axes[axis];
    input.setAttribute("aria-valuetext", cut ? `${names[axis]} below ${cut} cut away` : "nothing cut away");
  }
}
