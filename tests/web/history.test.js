// The browser's history: which entries are added, and which replace the last one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { runInNewContext } from "node:vm";

const SCRIPT = readFileSync(new URL("../../normviz/web/inline/history.js", import.meta.url), "utf8");
const HOST = "http://host";

let entries;
let scrolled;
let push;
let press;
let pass;
let tell;
let sent;
let hear;
let window;

beforeEach(() => {
  const heard = {};
  entries = ["/"];
  scrolled = 0;
  const location = new URL(HOST);
  const go = (url) => {
    location.href = new URL(url ?? "", location).href;
  };
  const history = {
    pushState(_state, _title, url) {
      entries.push(url);
      go(url);
    },
    replaceState(_state, _title, url) {
      entries.splice(-1, 1, url);
      go(url);
    },
  };
  const document = {
    querySelector: () => ({
      scrollTo: () => {
        scrolled += 1;
      },
    }),
  };
  const addEventListener = (type, take) => {
    heard[type] = take;
  };
  let timers = [];
  const setTimeout = (run) => timers.push(run);
  pass = () => {
    for (const run of timers) run();
    timers = [];
  };
  const postMessage = (message) => sent.push(message);
  sent = [];
  window = { URL, location, history, document, addEventListener, setTimeout, postMessage };
  window.window = window.parent = window;
  runInNewContext(SCRIPT, window);
  push = (url) => history.pushState({}, "", url);
  press = () => heard.click();
  hear = () => {
    for (const data of sent) heard.message?.({ data });
  };
  tell = (queryParams) => window.parent.postMessage({ type: "SET_QUERY_PARAM", queryParams }, "*");
});

test("what is set is a step of its own", () => {
  press();
  push("/?n=2");
  press();
  push("/?n=3");
  pass();
  assert.deepEqual(entries, ["/", "/?n=2", "/?n=3"]);
});

test("a page and its query, pushed one by one, are one step", () => {
  press();
  push("/compare");
  push("/compare?n=2");
  press();
  push("/?n=2");
  push("/?n=2&c=8");
  push("/?c=8");
  pass();
  assert.deepEqual(entries, ["/", "/compare?n=2", "/?c=8"]);
});

test("the query may be pushed before the page", () => {
  press();
  push("/?step=9");
  push("/running?step=9");
  pass();
  assert.deepEqual(entries, ["/", "/running?step=9"]);
});

test("a link that is mended on arrival replaces its entry", () => {
  push("/?n=1");
  pass();
  assert.deepEqual(entries, ["/?n=1"]);
});

test("what a page sets by itself later is a step", () => {
  press();
  push("/?n=2");
  push("/?n=3");
  pass();
  assert.deepEqual(entries, ["/", "/?n=2", "/?n=3"]);
});

test("a turn of the camera is no step", () => {
  press();
  push("/?n=2");
  press();
  push("/?n=2&camera=1,2");
  press();
  push("/?n=2&camera=3,4");
  pass();
  assert.deepEqual(entries, ["/", "/?n=2&camera=3,4"]);
});

test("another page is shown from its top", () => {
  press();
  push("/?n=2");
  assert.equal(scrolled, 0);
  press();
  push("/compare");
  assert.equal(scrolled, 1);
});

test("a new query is written a moment later, or before the next thing done", () => {
  press();
  push("/?n=2");
  assert.deepEqual(entries, ["/"]);
  press();
  assert.deepEqual(entries, ["/", "/?n=2"]);
  push("/?n=3");
  pass();
  assert.deepEqual(entries, ["/", "/?n=2", "/?n=3"]);
});

test("a query that is taken back before it is written is not written", () => {
  press();
  push("/?n=2");
  tell("?n=2");
  tell("");
  pass();
  assert.deepEqual(entries, ["/"]);
});

test("of two queries in one turn the last is written", () => {
  press();
  push("/?n=2");
  tell("?n=2");
  push("/?n=3");
  tell("?n=3");
  hear();
  pass();
  assert.deepEqual(entries, ["/", "/?n=2", "/?n=3"]);
  assert.equal(sent.length, 2);
});

test("no query, and whatever a frame around the page follows, is written at once", () => {
  press();
  push("/?n=2");
  push("/");
  assert.deepEqual(entries, ["/", "/?n=2", "/"]);
  window.parent = {};
  press();
  push("/?n=3");
  assert.deepEqual(entries, ["/", "/?n=2", "/", "/?n=3"]);
});
