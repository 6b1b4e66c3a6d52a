// What stands beside a cube: the place of an element's statistic in a heat map.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findStatistic } from "../../normviz/web/linked.js";

test("the statistic of an element has the first two axes down and the others across", () => {
  assert.deepEqual(findStatistic([1, 2, 3, 4], [2, 3, 4, 5], [2, 3, 4, 5]), [19, 5]);
  assert.deepEqual(findStatistic([1, 2, 3, 4], [1, 1, 1, 5], [2, 3, 4, 5]), [4, 0]); // batch normalization
  assert.deepEqual(findStatistic([1, 2, 3, 5], [2, 1, 1, 2], [2, 3, 4, 6]), [1, 1]); // two groups of channels
});
