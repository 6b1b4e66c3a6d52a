// The markup of the lecturer's page: the code, the stage with the question and its counts, and forms to unfold.

import { fillWords } from "./class_requests.js";

/**
 * Return the markup of the desk; the words are plain text of this app.
 * @param {Record<string, string>} words
 */
export function buildMarkup(words) {
  const answer = (/** @type {number} */ k) =>
    `<div class="own-answer"><input type="text" maxlength="200" aria-label="${fillWords(words, "own-answer", { number: k })}"
      placeholder="${fillWords(words, "own-answer", { number: k })}"><label><input type="radio" name="right"> ${words["own-right"]}</label></div>`;
  const button = (/** @type {string} */ name, /** @type {string} */ kind = "") =>
    `<button type="button" data-do="${name}" class="${kind}">${words[name]}</button>`;
  return `<p data-part="notice" role="status" hidden></p>
<div class="desk">
  <section class="join" data-part="before">
    ${button("open", "main")}
    <ol><li>${words["how-open"]}</li><li>${words["how-ask"]}</li><li>${words["how-discuss"]}</li><li>${words["how-reveal"]}</li></ol>
  </section>
  <section class="join" data-part="open" aria-label="${words["join-label"]}" hidden>
    <img data-part="qr" alt="${words["qr-alt"]}" width="400" height="400">
    <p>${words["join-at"]}<br><strong data-part="address"></strong></p>
    <p data-part="local" hidden>${words.local}</p>
    <p>${words["join-code"]}<br><strong data-part="code" class="code"></strong></p>
  </section>
  <div class="work">
    <figure data-part="preview">
      <figcaption>${words.preview}</figcaption>
      <div class="phone"><header>normviz</header><p data-part="preview-asked"></p><p data-part="preview-details"></p>
        <ul data-part="preview-answers"></ul></div>
      <details data-part="answer"><summary>${words["for-lecturer"]}</summary>
        <p><strong data-part="preview-right"></strong> <span data-part="preview-why"></span></p></details>
    </figure>
    <section data-part="stage" hidden>
      <h2 data-part="asked"></h2>
      <p data-part="details"></p>
      <ul data-part="bars"></ul>
      <p data-part="total" role="status"></p>
      <p data-part="why"></p>
      <label data-part="hide"><input type="checkbox"> ${words.hide}</label>
      <div class="row">${button("close")}${button("reveal", "main")}
        <a data-part="answer-link" class="button" target="_blank" hidden>${words["answer-link"]}</a></div>
    </section>
    <p data-part="none" hidden>${words.none}</p>
    <p data-part="refusal" role="alert" hidden></p>
    <div>
    <div data-part="choose"><p>${words.choose}</p><div data-part="examples"></div></div>
    <details data-part="ask"><summary>${words["ask-table"]}</summary>
      <p>${words["ask-table-how"]}</p>
      <div class="row">${button("ask-cell", "main")}<span data-part="picked"></span></div>
      <div class="nv-grid" data-part="grid"></div>
    </details>
    <details data-part="ask-lesson"><summary>${words["ask-lesson"]}</summary>
      <label>${words["lesson-step"]}<select data-part="step-choice"></select></label>
      <div class="row">${button("ask-step", "main")}${button("lead-step")}</div>
    </details>
    <details data-part="ask-words"><summary>${words["ask-words"]}</summary>
      <label>${words["own-text"]}<textarea data-part="own-text" rows="2" maxlength="1000"></textarea></label>
      <fieldset data-part="own-answers"><legend>${words["own-answers"]}</legend>${[1, 2, 3, 4].map(answer).join("")}</fieldset>
      <label>${words["own-why"]}<textarea data-part="own-why" rows="2" maxlength="1000"></textarea></label>
      ${button("ask-own", "main")}
    </details>
    </div>
    <div data-part="more" hidden>
    <details><summary>${words["lead-heading"]}</summary>
      <p data-part="pace"></p>
      <label>${words["lead-link"]}<input data-part="step" type="text" maxlength="2000"></label>
      <div class="row">${button("lead")}${button("pause")}${button("free")}</div>
    </details>
    <details><summary data-part="links-said"></summary>
      <p>${words["links-how"]}</p><ul data-part="links"></ul>
    </details>
    <details><summary>${words["device-heading"]}</summary>
      <label>${words["device-link"]}<input data-part="secret-link" type="text" readonly></label>
      <div class="row">${button("copy")}</div>
    </details>
    <div class="row">${button("end")}</div>
    </div>
  </div>
</div>`;
}
