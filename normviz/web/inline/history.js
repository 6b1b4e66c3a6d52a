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
  history.pushState = (state, title, url) => {
    const moves = new URL(url ?? "", location.href).pathname !== location.pathname;
    const again = (!done && (moves || arriving)) || bare(url ?? "") === bare("");
    [done, arriving] = [false, moves || (again && arriving)];
    (again ? history.replaceState : push).call(history, state, title, url);
    toTop();
  };
}
