import assert from "node:assert/strict";
import { test } from "node:test";

import { computeBearing, placeCamera, zoomSides } from "../../normviz/web/camera.js";

const eye = { x: 1.1, y: -1.5, z: 0.8 };
const far = Math.hypot(eye.x, eye.y, eye.z);

test("a camera at a bearing has this bearing, and stays as far away", () => {
  for (const around of [-179, -90, 0, 20, 135, 180])
    for (const above of [-89, -10, 0, 45, 89]) {
      const camera = { eye, projection: "kept" };
      const turned = placeCamera(camera, [around, above]);
      assert.deepEqual(computeBearing(turned.eye, 1.234), [around, above, 1.23]);
      assert.ok(Math.abs(Math.hypot(turned.eye.x, turned.eye.y, turned.eye.z) - far) < 1e-12);
      assert.equal(turned.projection, "kept");
    }
});

test("a camera straight above is written as the highest that a link may have", () => {
  assert.deepEqual(computeBearing({ x: 0, y: 0, z: 2 }, 1), [0, 89, 1]);
  assert.deepEqual(computeBearing({ x: 0, y: 0, z: -2 }, 1), [0, -89, 1]);
});

test("without a bearing camera and sides stay as they are", () => {
  const camera = { eye };
  assert.equal(placeCamera(camera), camera);
  assert.equal(placeCamera(camera, []), camera);
  assert.deepEqual(zoomSides({ x: 1, y: 2, z: 3 }), { x: 1, y: 2, z: 3 });
  assert.deepEqual(zoomSides({ x: 1, y: 2, z: 3 }, [20, 10, 1.5]), { x: 1.5, y: 3, z: 4.5 });
});
