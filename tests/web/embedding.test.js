// A page with the app in a frame: what it is told, and what it may set.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { beforeEach, test } from "node:test";
import { runInNewContext } from "node:vm";

const SCRIPT = readFileSync(new URL("../../normviz/web/inline/embedding.js", import.meta.url), "utf8");
const ORIGIN = "http://app.example";

let heard;
let told;
let location;
let stepped;

/** Run the script in a window, which is framed or not. */
function open(framed) {
  [heard, told, stepped] = [{}, [], 0];
  location = new URL(`${ORIGIN}/compare?n=2&embed=true`);
  const history = {
    state: null,
    pushState() {},
    replaceState(_state, _title, url) {
      const target = new URL(url, location);
      assert.equal(target.origin, ORIGIN); // a browser refuses another one
      location.href = target.href;
    },
  };
  const window = {};
  const outside = { postMessage: (message) => told.push({ ...message }) };
  const place = { window, parent: framed ? outside : window, location, history, URLSearchParams };
  runInNewContext(SCRIPT, {
    ...place,
    document: { querySelector: () => ({}) },
    setTimeout: (act, _pause, looks) => act(looks),
    addEventListener: (type, take) => {
      heard[type] = take;
    },
    dispatchEvent: () => {
      stepped += 1;
      heard.popstate();
    },
    PopStateEvent: class {},
  });
  return place.parent;
}

let frame;
beforeEach(() => {
  frame = open(true);
});

test("a page that is no frame says nothing and takes nothing", () => {
  open(false);
  assert.deepEqual(Object.keys(heard), []);
});

test("the frame's page is told that the app is ready, with its link", () => {
  heard["nv-open"]();
  assert.deepEqual(told, [{ type: "normviz:ready", page: "/compare", query: "n=2" }]);
});

test("what is set replaces the link, except for what belongs to the frame", () => {
  heard["nv-open"]();
  heard.message({ source: frame, data: { type: "normviz:set", query: "?n=3&lock=shape&embed=false" } });
  assert.equal(location.href, `${ORIGIN}/compare?n=3&lock=shape&embed=true`);
  assert.equal(stepped, 1);
  assert.deepEqual(told.at(-1), { type: "normviz:state", page: "/compare", query: "n=3&lock=shape" });
});

test("no link leads to another address", () => {
  for (const query of ["https://evil.example/", "//evil.example", "javascript:alert(1)", "#n=3", "../class?n=1"]) {
    heard.message({ source: frame, data: { type: "normviz:set", query } });
    assert.equal(location.origin + location.pathname + location.hash, `${ORIGIN}/compare`);
    assert.ok(location.search.endsWith("embed=true"));
  }
});

test("only the page around the frame sets anything, and only by a text of bounded length", () => {
  const before = location.href;
  const set = { type: "normviz:set", query: "n=3" };
  heard.message({ source: {}, data: set });
  heard.message({ source: null, data: set });
  for (const data of [
    null,
    "n=3",
    { ...set, type: "set" },
    { ...set, query: 3 },
    { ...set, query: "n".repeat(8001) },
  ]) {
    heard.message({ source: frame, data });
  }
  assert.equal(location.href, before);
  assert.equal(stepped, 0);
});
