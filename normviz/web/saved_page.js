// Saves a figure as a web page of its own, which works without a server.

/** @import {SavedState} from "./messages.d.ts" */

/**
 * Return bytes as base64.
 * @param {Uint8Array} bytes
 * @returns {Promise<string>}
 */
function encode(bytes) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^.*?,/, ""));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([bytes.slice()]));
  });
}

/**
 * Return the file of a web page; normviz/web/web_page.py builds the page without its cube.
 * @param {string} url of the page without its cube
 * @param {Uint8Array} message of the cube, packed
 * @param {SavedState} state of the cube in the browser
 */
export async function createPageFile(url, message, state) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} did not load: ${response.status}`);
  const template = await response.text();
  const content = await encode(message);
  const page = template.replace("[message]", () => content).replace("[state]", () => JSON.stringify(state));
  return new Blob([page], { type: "text/html" });
}
