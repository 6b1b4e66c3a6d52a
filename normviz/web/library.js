// plotly.js, which a page fetches with its first figure.

/** @type {Promise<void> | undefined} */
let library;

/**
 * Load plotly.js, once for all figures of a page. After a failure the next call tries again.
 * @param {string} url
 */
export function loadPlotly(url) {
  library ??= new Promise((resolve, reject) => {
    if (window.Plotly) return resolve();
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve();
    script.onerror = () => {
      library = undefined;
      reject(new Error(`plotly.js did not load from ${url}`));
    };
    document.head.append(script);
  });
  return library;
}
