// Requests to the routes of a class, for the page of a student and that of the lecturer.

/** @typedef {{text: string, answers: string[]}} AskedQuestion */

/** @typedef {{mode: "free" | "follow" | "pause", link: string}} Pace */

/**
 * What `ClassState.to_data` of normviz/classroom/rooms/records.py sends; the last three once the answer is revealed.
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

/** Language of a link that names none. */
const DEFAULT_LANGUAGE = "en";

/** A response that is none: the network or the server is down. */
export const UNREACHED = 0;

/**
 * Send a request; the status is `UNREACHED` if there is no response.
 * @param {string} url
 * @param {{body?: unknown, secret?: string, language?: string}} [options] language of the refusals
 * @returns {Promise<{status: number, data: any}>}
 */
export async function sendRequest(url, { body, secret, language = document.documentElement.lang } = {}) {
  const headers = new Headers({ "Content-Type": "application/json", "Accept-Language": language });
  const method = body === undefined ? "GET" : "POST";
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
 * Fill values into the words of a name, "{count} of {total}", in the form for the value `count` if there is one.
 * @param {Record<string, string>} words
 * @param {string} name
 * @param {Record<string, string | number>} values
 */
export function fillWords(words, name, values) {
  const text = words[`${name}-${values.count}`] ?? words[name] ?? "";
  return text.replace(/\{(\w+)\}/g, (_, each) => String(values[each]));
}

/**
 * Return a link of the app in a language, unless it names one itself.
 * @param {string} link
 * @param {string} language
 */
export function addLanguage(link, language) {
  return language === DEFAULT_LANGUAGE || /[?&]lang=/.test(link)
    ? link
    : `${link}${link.includes("?") ? "&" : "?"}lang=${language}`;
}

/**
 * Return a code in two groups, as it is read out.
 * @param {string} code
 */
export const groupCode = (code) => `${code.slice(0, 4)} ${code.slice(4)}`;
