// The page of a student: the question of a class, the answers as buttons, and where the lecturer leads.

/** @import { ClassState, Pace } from "./class_requests.js" */
/** @import { OwnAnswer } from "./join_view.js" */

import { addLanguage, fillWords, groupCode, sendRequest, sleep, UNREACHED } from "./class_requests.js";
import { find, findClosest, makeElement, write } from "./dom.js";
import { viewQuestion } from "./join_view.js";

const STORED = "normviz class ";
/** Milliseconds after which a class is over, and what this device remembers of it. */
const DAY = 24 * 3600 * 1000;

/** @type {{base: string, words: Record<string, string>}} */
const { base, words } = JSON.parse(find(document, "#page-data", HTMLScriptElement).textContent ?? "{}");
const language = document.documentElement.lang;
const part = (/** @type {string} */ id) => find(document, `#${id}`, HTMLElement);

/** Text of a name; "" for an unknown one. */
const say = (/** @type {string} */ name) => words[name] ?? "";

/** What this device remembers of a class: the name it made up for it, and its answer. */
class Memory {
  /** @param {string} code */
  constructor(code) {
    this.key = STORED + code;
    const random = crypto.getRandomValues(new Uint8Array(16));
    this.device = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
    /** @type {OwnAnswer} */
    this.own = { number: 0, choice: -1, counted: -1 };
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith(STORED)) continue;
        if (!(Date.now() - JSON.parse(localStorage[key]).at < DAY)) localStorage.removeItem(key);
      }
      const { device, own } = JSON.parse(localStorage[this.key] ?? "{}");
      if (device) Object.assign(this, { device, own: { ...own, choice: own.counted } });
    } catch {} // without storage, until the page is closed
  }

  save() {
    try {
      localStorage[this.key] = JSON.stringify({ at: Date.now(), device: this.device, own: this.own });
    } catch {}
  }
}

/** A class that this page has joined. */
class Classroom {
  /** @type {ClassState | null} */
  state = null;
  sending = false;
  refusal = "";

  /** @param {string} code */
  constructor(code) {
    this.url = `${base}class/${encodeURIComponent(code)}`;
    this.memory = new Memory(code);
    part("answers").addEventListener("click", (event) => {
      const chosen = findClosest(event, "button")?.dataset.choice;
      if (chosen !== undefined) this.choose(Number(chosen));
    });
    find(document, "#snapshot form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      this.sendLink(find(document, "#link", HTMLInputElement).value);
    });
    part("send-seen").addEventListener("click", () => {
      const seen = find(document, "#step", HTMLIFrameElement).contentWindow?.location;
      if (seen) this.sendLink(seen.href);
    });
    part("show-step").addEventListener("click", () => {
      part("step").hidden = false;
      if (this.state) showPace(this.state.pace);
    });
  }

  /** Follow the class until it ends. */
  async follow() {
    for (let failures = 0; ; ) {
      const version = this.state?.version;
      const { status, data } = await sendRequest(version === undefined ? this.url : `${this.url}?after=${version}`);
      if (status === 404) return this.leave(this.state ? say("ended") : data.error);
      failures = status === 200 ? 0 : failures + 1;
      write(part("notice"), status === 200 ? "" : status === UNREACHED ? say("unreached") : data.error);
      if (status === 200) this.take(data);
      const pause = status === 200 ? (data.version === version ? 1000 : 0) : 1000 * Math.min(2 ** failures, 15);
      await sleep(pause * (0.5 + Math.random())); // so that a whole class does not come back at once
    }
  }

  /** @param {string} reason */
  leave(reason) {
    for (const id of ["question", "pace", "snapshot"]) part(id).hidden = true;
    write(part("notice"), reason);
    part("enter").hidden = false;
  }

  /** @param {ClassState} state */
  take(state) {
    const isNew = state.number !== this.memory.own.number;
    if (isNew) this.memory.own = { number: state.number, choice: -1, counted: -1 };
    if (isNew || !this.state) makeAnswers(state);
    this.state = state;
    this.refusal = "";
    this.show();
    showPace(state.pace);
    part("snapshot").hidden = false;
  }

  /** @param {number} choice */
  choose(choice) {
    const { own } = this.memory;
    if (!this.state || this.state.closed || choice === own.choice) return;
    own.choice = choice;
    this.refusal = "";
    this.show();
    this.send();
  }

  /** Send the answer, and the next one if another was chosen meanwhile. */
  async send() {
    if (this.sending) return;
    this.sending = true;
    for (let own = this.memory.own; own.choice !== own.counted; own = this.memory.own) {
      const { number, choice } = own;
      const body = { device: this.memory.device, choice, number };
      const { status, data } = await sendRequest(`${this.url}/answer`, { body });
      if (number !== this.memory.own.number) continue;
      if (status === 200) own.counted = choice;
      else if (status >= 400 && status < 500) {
        own.choice = own.counted;
        this.refusal = data.error;
      } else await sleep(1000 + 1000 * Math.random());
      this.memory.save();
      this.show();
    }
    this.sending = false;
  }

  show() {
    if (!this.state) return;
    const view = viewQuestion(this.state, this.memory.own, words);
    part("question").hidden = false;
    for (const [k, { pressed, right, note, share }] of view.answers.entries()) {
      const button = find(document, `[data-choice="${k}"]`, HTMLButtonElement);
      button.setAttribute("aria-pressed", String(pressed));
      button.setAttribute("aria-disabled", String(!view.open));
      button.classList.toggle("right", right);
      write(find(button, "small", HTMLElement), note);
      button.style.setProperty("--share", String(share ?? 0));
    }
    write(part("said"), [this.refusal, view.said].filter(Boolean).join(" "));
    part("said").classList.toggle("good", view.good);
    write(part("why"), view.why);
  }

  /** @param {string} link */
  async sendLink(link) {
    const body = { device: this.memory.device, link };
    const { status, data } = await sendRequest(`${this.url}/snapshot`, { body });
    write(part("sent"), status === 200 ? say("sent") : status === UNREACHED ? say("unreached") : data.error);
    if (status === 200) find(document, "#link", HTMLInputElement).value = "";
  }
}

/** @param {ClassState} state */
function makeAnswers({ question }) {
  const [first = "", ...others] = (question?.text ?? "").split("\n");
  write(part("asked"), first);
  write(part("details"), others.join("\n").trim());
  part("answers").replaceChildren(
    ...(question?.answers ?? []).map((text, k) => {
      const button = makeElement("button", { type: "button" }, makeElement("span", { textContent: text }));
      button.dataset.choice = String(k);
      button.append(makeElement("small", { hidden: true }));
      return button;
    }),
  );
}

/** @param {Pace} pace */
function showPace({ mode, link }) {
  const step = find(document, "#step", HTMLIFrameElement);
  const href = link ? base + addLanguage(link.slice(1), language) : "";
  part("pace").hidden = mode === "free" && !href && step.hidden;
  write(part("pace-said"), say(mode));
  find(document, "#open-step", HTMLAnchorElement).href = href;
  part("open-step").hidden = mode === "pause" || !href;
  part("show-step").hidden = mode === "pause" || !href || !step.hidden;
  part("send-seen").hidden = mode === "pause" || step.hidden;
  step.classList.toggle("paused", mode === "pause");
  const isMoved = mode === "follow" || !step.dataset.shows;
  if (step.hidden || !href || !isMoved || step.dataset.shows === href) return;
  step.dataset.shows = href;
  step.contentWindow?.location.replace(href); // without an entry in the history of the phone
}

const code = decodeURIComponent(location.pathname.split("/join/")[1] ?? "")
  .replace(/[\s-]/g, "")
  .toUpperCase();
find(document, "#enter", HTMLFormElement).addEventListener("submit", (event) => {
  event.preventDefault();
  const typed = find(document, "#typed", HTMLInputElement).value.replace(/[\s-]/g, "");
  if (typed) location.assign(`${base}join/${encodeURIComponent(typed.toUpperCase())}${location.search}`);
});
const given = new URLSearchParams(location.search).get("lang") ?? language;
write(
  part("language-note"),
  given === language ? "" : fillWords(words, "language-note", { given: given.slice(0, 40) }),
);
if (code) {
  part("code").textContent = groupCode(code.slice(0, 8));
  new Classroom(code).follow();
} else part("enter").hidden = false;
