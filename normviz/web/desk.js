// The page of a lecturer: opens a class, asks, watches the counts, closes, reveals, and leads the class.
// The secret stays in this browser; nothing of the class goes through the page's session.

/** @import { Given } from "./component.d.ts" */
/** @import { AskedQuestion, Pace } from "./class_requests.js" */
/** @import { GridData } from "./grid.js" */

import { addLanguage, fillWords, groupCode, sendRequest, sleep, UNREACHED } from "./class_requests.js";
import { readLatest } from "./data.js";
import { buildMarkup } from "./desk_markup.js";
import { find, findClosest, makeElement, write } from "./dom.js";
import { drawGrid } from "./grid.js";

/**
 * What `build_desk_data` of normviz/classroom/rooms/desk.py sends.
 * @typedef {object} DeskData
 * @property {string} base path of the app, with a slash at its end
 * @property {string} language
 * @property {Record<string, string>} words
 * @property {Record<string, string>} pages titles of the app's pages by their address
 * @property {GridData} grid the cells of Table 1 to choose from
 * @property {Record<string, FullQuestion>} cells their questions
 * @property {{title: string, steps: LessonStep[]}[]} lessons
 * @property {Record<string, string>} examples questions that are one click away, by the key of a cell or a step
 * @property {string} step key of the step that is chosen at first
 */

/** @typedef {AskedQuestion & {right: number | null, why: string, link: string}} FullQuestion */

/** @typedef {FullQuestion & {key: string, question: string}} LessonStep */

/**
 * What `read_results` of normviz/classroom/rooms/store.py returns.
 * @typedef {object} Results
 * @property {number[]} counts
 * @property {boolean} closed
 * @property {boolean} revealed
 * @property {number} number
 * @property {FullQuestion | null} question
 * @property {Pace} pace
 * @property {{id: number, link: string}[]} snapshots
 */

/** @typedef {{code: string, secret: string}} OpenClass */

/** @typedef {Record<string, string>} Words */

const STORED = "normviz lecturer";
/** Milliseconds between two looks at the counts. */
const INTERVAL = 500;

/** Return the class in a secret link, which is then taken out of the address, or in the memory of this browser. */
function recallClass() {
  const [, code, secret] = location.hash.match(/^#([A-Z0-9]{8})\.([\w-]{43})$/) ?? [];
  if (code && secret) {
    history.replaceState(history.state, "", location.pathname + location.search);
    rememberClass({ code, secret });
    return { code, secret };
  }
  try {
    return /** @type {OpenClass | null} */ (JSON.parse(localStorage[STORED] ?? "null"));
  } catch {
    return null;
  }
}

/** @param {OpenClass | null} opened */
function rememberClass(opened) {
  try {
    if (opened) localStorage[STORED] = JSON.stringify(opened);
    else localStorage.removeItem(STORED);
  } catch {}
}

/** The desk in one element of the page. */
export class Desk {
  /** @type {OpenClass | null} */
  opened = recallClass();
  /** @type {Results | null} */
  results = null;
  shown = { number: -1, snapshots: -1 };
  cell = "";
  /** The form of the previewed question. */
  form = "ask";

  /**
   * @param {HTMLElement} root
   * @param {DeskData} data
   */
  constructor(root, data) {
    this.root = root;
    this.data = data;
    this.words = data.words;
    root.lang = data.language;
    root.innerHTML = buildMarkup(data.words);
    root.addEventListener("keydown", (event) => event.stopPropagation()); // Streamlit has shortcuts of single letters
    root.addEventListener("click", (event) => {
      const action = findClosest(event, "[data-do]")?.dataset.do;
      if (action) this.act(action);
    });
    this.examples = this.fillExamples();
    this.pickCell(data.grid.open);
    this.fillSteps();
    this.show();
    this.watch();
  }

  /** @param {string} name */
  part(name) {
    return find(this.root, `[data-part="${name}"]`, HTMLElement);
  }

  /** @param {string} name */
  read(name) {
    const field = this.part(name);
    return field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field.value.trim() : "";
  }

  /** @param {string} name */
  say(name) {
    return this.words[name] ?? "";
  }

  /** @param {string} [rest] of the address */
  url(rest = "") {
    return `${this.data.base}class${this.opened ? `/${this.opened.code}${rest}` : ""}`;
  }

  /** Look at the counts for as long as the page shows this element. */
  async watch() {
    while (this.root.isConnected || !this.root.dataset.seen) {
      if (this.root.isConnected) this.root.dataset.seen = "yes";
      if (this.opened) await this.look();
      await sleep(INTERVAL);
    }
  }

  /**
   * @param {string} rest of the address
   * @param {unknown} [body]
   */
  request(rest, body) {
    return sendRequest(this.url(rest), { body, secret: this.opened?.secret, language: this.data.language });
  }

  async look() {
    const { opened } = this;
    const { status, data } = await this.request("/results");
    if (opened !== this.opened) return;
    if (status === 404 || status === 403) return this.leave(this.say("over"));
    write(this.part("notice"), status === 200 ? "" : data.error || this.say("unreached"));
    if (status !== 200) return;
    this.results = data;
    this.show();
  }

  /** @param {string} notice */
  leave(notice) {
    this.opened = this.results = null;
    rememberClass(null);
    this.show();
    write(this.part("notice"), notice);
  }

  /** @param {string} action */
  act(action) {
    /** @type {Record<string, () => unknown>} */
    const actions = {
      open: () => this.open(),
      "ask-cell": () => this.send("question", { cell: this.cell }),
      "ask-step": () => this.send("question", { lesson: this.step?.key }),
      "lead-step": () => this.send("pace", { mode: "follow", link: this.step?.link }),
      "ask-own": () => this.send("question", this.readQuestion()),
      close: () => this.send("close", {}),
      reveal: () => this.send("reveal", {}),
      lead: () => this.send("pace", { mode: "follow", link: this.read("step") }),
      pause: () => this.send("pace", { mode: "pause", ...this.keepLink() }),
      free: () => this.send("pace", { mode: "free", ...this.keepLink() }),
      copy: () => navigator.clipboard?.writeText(this.read("secret-link")),
      end: () => this.confirmEnd(),
    };
    actions[action]?.();
  }

  /** The chosen step of a lesson. */
  get step() {
    const { value } = find(this.root, '[data-part="step-choice"]', HTMLSelectElement);
    return this.data.lessons.flatMap(({ steps }) => steps).find(({ key }) => key === value);
  }

  fillSteps() {
    const choice = find(this.root, '[data-part="step-choice"]', HTMLSelectElement);
    for (const { title, steps } of this.data.lessons) {
      const group = makeElement("optgroup", { label: title });
      group.append(...steps.map(({ key, question }, k) => new Option(`${k + 1}. ${question}`, key)));
      choice.append(group);
    }
    choice.addEventListener("change", () => this.preview(this.step));
    const chosen = this.data.lessons.flatMap(({ steps }) => steps).find(({ key }) => key === this.data.step);
    if (chosen) this.pickStep(chosen);
  }

  /** Draw the buttons of the questions that are one click away, and return them by question. */
  fillExamples() {
    const steps = this.data.lessons.flatMap((lesson) => lesson.steps);
    const drawn = Object.entries(this.data.examples).map(([key, textContent]) => {
      const step = steps.find((each) => each.key === key);
      const question = step ?? this.data.cells[key];
      const button = makeElement("button", { type: "button", textContent });
      button.addEventListener("click", () => (step ? this.pickStep(step) : this.pickCell(key)));
      this.part("examples").append(button);
      return /** @type {const} */ ([question, button]);
    });
    return new Map(drawn);
  }

  /** @param {LessonStep} step */
  pickStep(step) {
    find(this.root, '[data-part="step-choice"]', HTMLSelectElement).value = step.key;
    this.preview(step);
  }

  async open() {
    const { status, data } = await this.request("", {});
    if (status !== 200) return write(this.part("notice"), data.error || this.say("unreached"));
    this.opened = data;
    rememberClass(data);
    this.part(this.form).setAttribute("open", "");
    await this.look();
  }

  /**
   * @param {string} name
   * @param {object} body
   */
  async send(name, body) {
    if (!this.opened) return;
    const { status, data } = await this.request(`/${name}`, body);
    if (status === 200) await this.look();
    write(this.part("refusal"), status === 200 ? "" : status === UNREACHED ? this.say("unreached") : data.error);
  }

  keepLink() {
    const link = this.results?.pace.link;
    return link ? { link } : {};
  }

  readQuestion() {
    const fields = [...this.part("own-answers").querySelectorAll("input")];
    const texts = fields.filter(({ type }) => type === "text").map(({ value }) => value.trim());
    const right = fields.filter(({ type }) => type === "radio").findIndex(({ checked }) => checked);
    const answers = texts.filter(Boolean);
    const text = texts[right];
    return {
      text: this.read("own-text"),
      answers,
      right: text ? answers.indexOf(text) : null,
      why: this.read("own-why"),
    };
  }

  confirmEnd() {
    const button = find(this.root, '[data-do="end"]', HTMLButtonElement);
    if (button.dataset.sure) return this.end();
    button.dataset.sure = "yes";
    button.textContent = this.say("end-sure");
  }

  async end() {
    await this.request("/end", {});
    this.leave(this.say("ended"));
  }

  /** @param {string} key */
  pickCell(key) {
    this.cell = key;
    const grid = { ...this.data.grid, open: key };
    drawGrid(this.part("grid"), grid, (cell) => this.pickCell(cell));
    const found = grid.rows.flatMap(({ cells }) => cells).find((cell) => cell.key === key);
    write(this.part("picked"), found?.title ?? "");
    this.preview(this.data.cells[key]);
  }

  /**
   * Write the first line of a question as its heading, and the others below it.
   * @param {string} place
   * @param {AskedQuestion} question
   */
  writeQuestion(place, { text }) {
    const [first = "", ...others] = text.split("\n");
    write(this.part(`${place}asked`), first);
    write(this.part(`${place}details`), others.join("\n").trim());
  }

  /** @param {FullQuestion | undefined} question */
  preview(question) {
    if (!question) return;
    this.form = "key" in question ? "ask-lesson" : "ask";
    for (const [each, button] of this.examples) button.setAttribute("aria-pressed", String(each === question));
    this.writeQuestion("preview-", question);
    const answers = question.answers.map((text) => makeElement("li", { textContent: `○ ${text}` }));
    this.part("preview-answers").replaceChildren(...answers);
    write(this.part("preview-right"), question.answers[question.right ?? -1] ?? "");
    write(this.part("preview-why"), question.why);
  }

  show() {
    const { opened, results } = this;
    for (const name of ["before", "preview", "choose"]) this.part(name).hidden = Boolean(opened);
    for (const name of ["ask-cell", "ask-step", "lead-step", "ask-own"])
      find(this.root, `[data-do=${name}]`, HTMLButtonElement).hidden = !opened;
    for (const name of ["open", "more"]) this.part(name).hidden = !opened;
    for (const name of ["stage", "none"])
      this.part(name).hidden = !opened || (name === "stage") !== Boolean(results?.question);
    if (!opened) return;
    const { base, language } = this.data;
    const address = addLanguage(`${location.origin}${base}join`, language);
    if (this.part("code").dataset.code !== opened.code) {
      this.part("code").dataset.code = opened.code;
      write(this.part("code"), groupCode(opened.code));
      this.part("local").hidden = !/^(localhost|127\..*|\[::1\])$/.test(location.hostname);
      write(this.part("address"), address.replace(/^https?:\/\//, ""));
      const picture = find(this.root, '[data-part="qr"]', HTMLImageElement);
      const code = `${base}join/${opened.code}/qr.svg?origin=${encodeURIComponent(location.origin)}`;
      picture.src = addLanguage(code, language);
      const link = find(this.root, '[data-part="secret-link"]', HTMLInputElement);
      link.value = `${location.origin}${addLanguage(`${base}class`, language)}#${opened.code}.${opened.secret}`;
      const end = find(this.root, '[data-do="end"]', HTMLButtonElement);
      end.textContent = this.say("end");
      delete end.dataset.sure;
      this.shown = { number: -1, snapshots: -1 };
    }
    if (results) this.showResults(results);
  }

  /** @param {Results} results */
  showResults({ question, counts, closed, revealed, number, pace, snapshots }) {
    const total = counts.reduce((sum, count) => sum + count, 0);
    if (question && this.shown.number !== number) {
      this.writeQuestion("", question);
      this.part("bars").replaceChildren(...question.answers.map(makeBar));
      for (const each of ["ask", "ask-lesson", "ask-words"]) this.part(each).removeAttribute("open"); // the counts have the first screen
    }
    for (const [k, row] of [...this.part("bars").children].entries()) {
      if (!(row instanceof HTMLElement)) continue;
      const count = counts[k] ?? 0;
      row.style.setProperty("--share", String(total ? count / total : 0));
      row.classList.toggle("right", revealed && question?.right === k);
      write(find(row, "b", HTMLElement), String(count));
      write(find(row, "em", HTMLElement), revealed && question?.right === k ? this.say("right") : "");
    }
    this.part("stage").classList.toggle("revealed", revealed);
    const status = revealed ? "state-revealed" : closed ? "state-closed" : "state-open";
    write(this.part("total"), fillWords(this.words, status, { count: total }));
    find(this.root, '[data-do="close"]', HTMLButtonElement).hidden = closed;
    find(this.root, '[data-do="reveal"]', HTMLButtonElement).hidden = this.part("hide").hidden = revealed;
    write(this.part("why"), revealed ? (question?.why ?? "") : "");
    const link = find(this.root, '[data-part="answer-link"]', HTMLAnchorElement);
    link.hidden = !revealed || !question?.link;
    link.href = this.data.base + addLanguage((question?.link ?? "").slice(1), this.data.language);
    write(this.part("pace"), fillWords(this.words, `pace-${pace.mode}`, { link: pace.link }));
    if (this.shown.snapshots !== snapshots.length) {
      this.part("links").replaceChildren(...snapshots.map((each) => this.makeLink(each.link)));
      write(this.part("links-said"), fillWords(this.words, "links", { count: snapshots.length }));
    }
    this.shown = { number, snapshots: snapshots.length };
  }

  /** @param {string} link */
  makeLink(link) {
    const [path = "/", query = ""] = link.split("?");
    const shown = `${this.data.base}${path.slice(1)}?${query ? `${query}&` : ""}present=1`;
    const href = addLanguage(shown, this.data.language);
    const title = this.data.pages[path] ?? path;
    const anchor = makeElement("a", { href, target: "_blank", textContent: `${this.say("project")}: ${title}` });
    return makeElement("li", {}, anchor, makeElement("small", { textContent: query.replaceAll("&", " · ") }));
  }
}

/** @param {string} text */
function makeBar(text) {
  return makeElement("li", {}, makeElement("span", { textContent: text }), makeElement("em"), makeElement("b"));
}

/** @type {WeakMap<HTMLElement, Desk>} */
const desks = new WeakMap();

/** @param {Given} given */
export default function ({ data: sent, parentElement }) {
  const root = find(parentElement, ".nv-desk", HTMLElement);
  /** @type {DeskData | null} */
  const data = readLatest(root, sent);
  if (data && !desks.has(root)) desks.set(root, new Desk(root, data));
}
