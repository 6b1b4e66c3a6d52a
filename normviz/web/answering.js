// On a phone, the reason for an answer comes between the question and the picture. The page scrolls by the reason's
// height, so that the picture keeps its place. The next step is seen from its top.

const NARROW = "(max-width: 640px)"; // as in frame.css
const PATIENCE = 5000; // ms until the server has answered
const SETTLING = 1500; // ms until all parts of the page have their size

/** @param {string} name of a part of a lesson's bar */
const findPart = (name) => document.querySelector(`.st-key-lesson${name}`);

const findBottom = () => findPart("")?.getBoundingClientRect().bottom ?? 0;

/**
 * Scroll the page once the answer or step has come that a press of a lesson's button asks for.
 * @param {MouseEvent} event
 */
export function followLesson({ target }) {
  const main = document.querySelector(".stMain");
  if (!main || !(target instanceof Element) || !matchMedia(NARROW).matches) return;
  const isAnswer = target.closest(".st-key-lesson-answers button") !== null;
  if (!isAnswer && !target.closest(".st-key-lesson-turns button")) return;
  const awaited = isAnswer ? "-reason" : "-title";
  const [before, bottom] = [findPart(awaited)?.textContent, findBottom()];
  let [end, came] = [Date.now() + PATIENCE, false];
  const stop = new AbortController();
  for (const type of ["pointerdown", "wheel"]) {
    addEventListener(type, () => stop.abort(), { signal: stop.signal, capture: true });
  }
  const look = () => {
    const text = findPart(awaited)?.textContent;
    if (!came && text && text !== before) [end, came] = [Date.now() + SETTLING, true];
    if (came) main.scrollTop = isAnswer ? main.scrollTop + findBottom() - bottom : 0;
    if (!stop.signal.aborted && Date.now() < end) requestAnimationFrame(look);
  };
  look();
}
