// The outline of the highlighted element, drawn over the picture so that nothing hides it.

import { BOX_CORNERS, BOX_SIDES, offsetCorner } from "./boxes.js";
import { createProjection } from "./pointing.js";

/** @import {Box} from "./boxes.js" */
/** @import {ProjectedScene} from "./pointing.js" */

/**
 * Return the sides of boxes that face the eye, as a path in pixels of the scene.
 * @param {ProjectedScene} scene
 * @param {Box[]} found
 * @param {number} overhang
 */
function buildFacingSides(scene, found, overhang) {
  const at = createProjection(scene);
  const { width, height } = scene.box;
  return found
    .map(({ origin, size }) => {
      const corners = BOX_CORNERS.map((_, n) => {
        const [x, y, z] = origin.map((v, e) => v + offsetCorner(n, e, size, overhang));
        const [a, b, depth] = at(x, y, z);
        return [((1 + a) / 2) * width, ((1 - b) / 2) * height, depth];
      });
      /** @type {(side: number[]) => number} */
      const depth = (side) => side.reduce((sum, n) => sum + corners[n][2], 0);
      const near = [0, 2, 4].map((first) =>
        depth(BOX_SIDES[first]) < depth(BOX_SIDES[first + 1]) ? BOX_SIDES[first] : BOX_SIDES[first + 1],
      );
      return near
        .map((side) => `M${side.map((n) => corners[n].slice(0, 2).map((v) => v.toFixed(1))).join("L")}Z`)
        .join("");
    })
    .join("");
}

/**
 * Draw the outline of boxes into the layer that Plotly keeps over a scene, in the frame that draws the scene.
 * @param {ProjectedScene & {overlay: Element}} scene
 * @param {Box[]} found
 * @param {number} overhang
 * @param {string} colour
 * @param {boolean} isFilled
 */
export function drawOutline(scene, found, overhang, colour, isFilled) {
  let group = scene.overlay.querySelector(".nv-outline");
  if (!group) {
    group = document.createElementNS("http://www.w3.org/2000/svg", "g");
    group.setAttribute("class", "nv-outline");
    group.innerHTML = "<path/><path/>"; // a line in the page's colour below it keeps it visible on cells of the same colour
    scene.overlay.append(group);
  }
  group.classList.toggle("nv-hollow", !isFilled);
  const path = buildFacingSides(scene, found, overhang);
  for (const each of group.children) each.setAttribute("d", path);
  group.firstElementChild?.setAttribute("fill", isFilled ? colour : "none"); // sides that a field hides would leave a hollow box
  group.lastElementChild?.setAttribute("stroke", colour);
}
