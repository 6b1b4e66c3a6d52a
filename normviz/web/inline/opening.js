// A page is shown when its first run is over and all parts of it have the size that they stay at: one that is put
// together before one's eyes jumps. What its link has opened in a list is then in sight.
{
  const PAUSE = 30; // ms
  const LOOKS = 130; // more than that, and it is seen as it comes; a busy browser looks less often
  const shown = () => {
    document.documentElement.classList.add("nv-open");
    dispatchEvent(new Event("nv-open"));
    document.querySelector(".st-key-claims details[open]")?.scrollIntoView();
  };
  /** @param {string} selector */
  const is = (selector) => document.querySelector(selector) !== null;
  const UNFINISHED =
    '[data-testid="stSkeleton"], [data-testid="stAppSkeleton"], .nv-plot:not([data-sized])' +
    ', [data-testid^="stBidiComponent"]:not([data-shown])';
  // what a link hides never has a size, and does not count
  const isUnfinished = () => [...document.querySelectorAll(UNFINISHED)].some((each) => each.checkVisibility());
  const settled = () =>
    is('.stApp[data-test-script-state="notRunning"][data-test-connection-state="CONNECTED"]') &&
    (!is(".stSidebar") || is(".stSidebar .stElementContainer")) &&
    !isUnfinished() &&
    document.fonts.status === "loaded";
  /** @param {number} left looks that are left */
  const again = (left) => setTimeout(look, PAUSE, left - 1);
  // Seen one frame after all has its place: a browser takes what moves in the frame that shows it for a jump.
  /** @param {number} left */
  const look = (left) => {
    if (!left) shown();
    else if (settled()) requestAnimationFrame(() => requestAnimationFrame(() => (settled() ? shown() : again(left))));
    else again(left);
  };
  look(LOOKS);
}
