// A page that shows the app in a frame is told when the app is ready and what its link is, and may set another link.
// The server's header frame-ancestors says which sites may be that page. What it is told holds settings only, and what it
// sets is read like any link: the server replaces what is not valid, and the path and the origin stay.
if (parent !== window) {
  const OF_STREAMLIT = ["embed", "embed_options"];
  const LONGEST = 8000; // characters of a link that is set
  const PAUSE = 150; // ms
  const LOOKS = 6; // in which a run begins that a new link starts
  const RESTING = '.stApp[data-test-script-state="notRunning"]';
  let isReady = false;
  let isDue = false; // a message on the state

  /** @param {string} type */
  const tell = (type) => {
    const values = new URLSearchParams(location.search);
    for (const name of OF_STREAMLIT) values.delete(name);
    parent.postMessage({ type, page: location.pathname, query: String(values) }, "*");
  };
  /**
   * Tell the state once the page has run, which writes the values that it has replaced into its link.
   * @param {number} looks in which the run may still begin
   */
  const tellState = (looks) => {
    const isResting = document.querySelector(RESTING) !== null;
    isDue = !isResting || looks > 0;
    if (isDue) setTimeout(tellState, PAUSE, isResting ? looks - 1 : 0);
    else tell("normviz:state");
  };
  /** @param {number} looks */
  const follow = (looks) => {
    if (!isReady || isDue) return;
    isDue = true;
    setTimeout(tellState, PAUSE, looks);
  };
  const replace = history.replaceState;
  for (const name of /** @type {const} */ (["pushState", "replaceState"])) {
    const change = history[name];
    history[name] = (...entry) => {
      change.apply(history, entry);
      follow(0);
    };
  }
  addEventListener("popstate", () => follow(LOOKS));
  addEventListener(
    "nv-open",
    () => {
      isReady = true;
      tell("normviz:ready");
    },
    { once: true },
  );
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.type !== "normviz:set" || typeof data.query !== "string") return;
    if (data.query.length > LONGEST) return;
    const values = new URLSearchParams(data.query);
    const now = new URLSearchParams(location.search);
    for (const name of OF_STREAMLIT) {
      values.delete(name);
      for (const value of now.getAll(name)) values.append(name, value);
    }
    // As a step in the browser's history, which Streamlit follows without loading the page again.
    replace.call(history, history.state, "", `?${values}`);
    dispatchEvent(new PopStateEvent("popstate", { state: history.state }));
  });
}
