// Requests to the routes of a class, for the page of a student and that of the lecturer.

/** @typedef {{text: string, answers: string[]}} AskedQuestion */

/** @typedef {{mode: "free" | "follow" | "pause", link: string}} Pace */

/**
 * What `ClassState.to_data` of normviz/classroom/rooms/records.py sends; the last three once the answer is revealed.
 *
 * @typedef {object} ClassState
 * @property {string} code
 * @property {number} version
 * @property {number} number of the question
 * @property {AskedQuestion | null} question
 * @property {boolean} closed
 * @property {boolean} revealed
 * @property {Pace} pace
 * @property {number | null} [right]
 * @property {string} [why]
 * @property {number[]} [counts]
 */

/** A response that is none: the network or the server is down. */
export const UNREACHED = 0;

/**
 * Send a request; the status is `UNREACHED` if there is no response.
 *
 * @param {string} url
 * @param {{body?: unknown, secret?: string, method?: string}} [options]
 * @returns {Promise<{status: number, data: any}>}
 */
export async function sendRequest(url, { body, secret, method = body === undefined ? "GET" : "POST" } = {}) {
  const headers = new Headers({ "Content-Type": "application/json" });
  if (secret) headers.set("X-Class-Secret", secret);
  try {
    const options = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(30_000) });
    return { status: response.status, data: await response.json() };
  } catch {
    return { status: UNREACHED, data: { error: "" } };
  }
}

/** @param {number} milliseconds */
export const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * Fill the values into a text: "{count} of {total}".
 *
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export const fillWords = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

/**
 * Return a code in two groups, as it is read out.
 *
 * @param {string} code
 */
export const groupCode = (code) => `${code.slice(0, 4)} ${code.slice(4)}`;
