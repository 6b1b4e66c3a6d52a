// Streamlit pushes the path of a page that is gone to and the query of its link one by one, in either order: two
// entries in the browser's history for one step, and the first of them is no view of either page. A link that had to
// be mended is pushed, too. Here, what is pushed without anything done since the last change of page replaces it; and so
// does a turn of the camera, which is no step of its own.
{
  const push = history.pushState;
  let done = false; // something, since the last entry
  let arriving = true; // the last entry came with another page
  for (const type of ["pointerdown", "keydown", "click"]) {
    addEventListener(
      type,
      () => {
        write();
        done = true;
      },
      true,
    );
  }
  /** @param {string | URL} url */
  const bare = (url) => {
    const seen = new URL(url, location.href);
    seen.searchParams.delete("camera");
    return `${seen.pathname}?${seen.searchParams}`;
  };
  // A page is seen from its top. Streamlit leaves the page where it was scrolled to: only where all of the last page is
  // gone before the next one comes is nothing left to be scrolled.
  let path = location.pathname;
  const toTop = () => {
    if (location.pathname !== path) document.querySelector(".stMain")?.scrollTo(0, 0);
    path = location.pathname;
  };
  addEventListener("popstate", toTop);
  // Chromium paints its window anew with each address, and the cube's next frame waits for it. So a new query is written
  // after that frame, or before the next thing done. Streamlit keeps the query itself; it reads an empty one from the
  // address, so that is written at once.
  const LATER = 250; // ms
  /** @type {(() => void) | undefined} */
  let waiting;
  const write = () => waiting?.();
  addEventListener("popstate", () => {
    waiting = undefined;
  });
  // Streamlit sends each query to its frame in a message, and pushes only a query that differs from the address. A query
  // that equals the address cancels the one that waits. The message is read while it is sent: its listeners are called
  // later, when newer queries may wait.
  const post = window.postMessage;
  window.postMessage = (/** @type {any} */ message, /** @type {any[]} */ ...rest) => {
    if (message?.type === "SET_QUERY_PARAM" && message.queryParams === location.search) waiting = undefined;
    post.call(window, message, ...rest);
  };
  history.pushState = (state, title, url) => {
    write();
    const next = new URL(url ?? "", location.href);
    const moves = next.pathname !== location.pathname;
    const again = (!done && (moves || arriving)) || bare(next) === bare("");
    [done, arriving] = [false, moves || (again && arriving)];
    waiting = () => {
      waiting = undefined;
      (again ? history.replaceState : push).call(history, state, title, url);
      toTop();
    };
    if (moves || !next.search || parent !== window) write();
    else setTimeout(write, LATER);
  };
}
