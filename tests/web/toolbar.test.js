// The toolbar: the keys of a presenter's clicker, and the size of the text in a presentation.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findKeyAction, scaleText } from "../../normviz/web/toolbar.js";

const press = (key, more) =>
  findKeyAction({ key, defaultPrevented: false, ctrlKey: false, altKey: false, metaKey: false, ...more });

test("a clicker's keys walk through the pages and leave", () => {
  assert.equal(press("PageUp"), "before");
  assert.equal(press("PageDown"), "behind");
  assert.equal(press("Escape"), "leave");
  assert.equal(press("ArrowDown"), undefined);
});

test("a key with a modifier, or one that something else has taken, does nothing", () => {
  for (const name of ["defaultPrevented", "ctrlKey", "altKey", "metaKey"]) {
    assert.equal(press("PageDown", { [name]: true }), undefined);
  }
});

test("text grows with the width, from its usual size to 2.2 times of it", () => {
  assert.equal(scaleText(390), "1.00");
  assert.equal(scaleText(1280), "1.33");
  assert.equal(scaleText(3840), "2.20");
});
