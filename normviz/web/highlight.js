// The highlight of an element and its field, as Plotly traces by name.

import { buildDivisions, buildEdges, buildMesh, findBoxes, POINT_BOX, shiftBoxes } from "./boxes.js";
import { trimRange } from "./cells.js";

/** @import {Box} from "./boxes.js" */
/** @import {CubeState} from "./body.js" */
/** @import {Index} from "./component.d.ts" */

const MOST_DIVIDED = 100; // boxes with lines between their cells; of 1,000 the lines take 20 ms

/**
 * Return true if an element is not cut away.
 * @param {Index} index
 * @param {number[]} cut
 */
export const isVisible = (index, cut) => index.every((v, axis) => v >= cut[axis]);

/**
 * Return the box of an element in every copy.
 * @param {Pick<CubeState, "hover" | "at" | "staged">} cube
 * @param {Index} index
 */
export function findElementBoxes({ hover, at, staged }, index) {
  const found = findBoxes(
    staged ?? at,
    hover.order,
    index.map((v) => [v, v + 1]),
  );
  return hover.copies.flatMap((copy) => shiftBoxes(copy, found));
}

/**
 * Return the boxes of an element's field in every copy. Without a field it is a point, as Plotly drops empty
 * traces from the scene.
 * @param {CubeState} cube
 * @param {Index} index
 * @param {"bounds" | "dashed"} name of the field
 */
function findFieldBoxes({ hover, at, staged, cut }, index, name) {
  return hover.copies.flatMap((copy) => {
    const bounds = copy[name];
    if (!bounds) return POINT_BOX;
    const range = index.map((v, axis) => trimRange(bounds[axis][v], cut[axis]));
    return shiftBoxes(copy, findBoxes(staged ?? at, hover.order, range));
  });
}

/**
 * Return the traces that show an element and its field.
 * @param {CubeState} cube
 * @param {Index} index
 */
export function buildHighlight(cube, index) {
  const { hover, at, staged, part, hues } = cube;
  const bounds = findFieldBoxes(cube, index, "bounds");
  const dashed = findFieldBoxes(cube, index, "dashed");
  const most = hover.framed * hover.copies.length;
  const overhang = hover.filled || staged ? 0.04 : 0.02; // in front of a filled field
  /** @type {(found: Box[]) => ReturnType<typeof buildEdges>} */
  const frames = (found) => buildEdges(found.length > most ? POINT_BOX : found, overhang);
  const role = part ?? staged?.role;
  const lit = role === "mean" && hover.copies.every((copy) => copy.dashed) ? dashed : bounds;
  const filled = part || (hover.filled && !staged) ? lit : [];
  const divided = hover.fine && !staged && filled.length <= MOST_DIVIDED ? filled : [];
  return {
    field: { ...buildMesh(filled, 0.03), color: hues[part ?? "field"] },
    divisions: buildDivisions(divided, at.size, 0.04),
    edges: frames(lit),
    summation: frames(role ? POINT_BOX : dashed),
    element: buildMesh(hover.filled || staged ? findElementBoxes(cube, index) : [], hover.overhang), // else its colour shows
  };
}
