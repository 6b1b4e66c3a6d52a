// The dragged slider sends the latest value, one at a time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Sender } from "../../normviz/web/drag.js";

function start(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sender = new Sender();
  const sent = [];
  sender.send = (value) => sent.push(value);
  return { sender, sent };
}

test("the first value is sent at once, then the latest when it is answered", (context) => {
  const { sender, sent } = start(context);
  for (const value of [1, 2, 3]) sender.want(value);
  assert.deepEqual(sent, [1]);
  sender.answer();
  assert.deepEqual(sent, [1, 3]);
  sender.answer();
  assert.deepEqual(sent, [1, 3]);
  sender.want(0);
  assert.deepEqual(sent, [1, 3, 0]);
});

test("a page that does not answer is sent the latest value after three seconds", (context) => {
  const { sender, sent } = start(context);
  sender.want(1);
  sender.want(2);
  context.mock.timers.tick(2999);
  assert.deepEqual(sent, [1]);
  context.mock.timers.tick(1);
  assert.deepEqual(sent, [1, 2]);
});
