// What lights an element and its field, as traces of Plotly by their names.

import { beside, boxes, lines, mesh, POINT } from "./boxes.js";
import { left } from "./cells.js";

/** @import {Box} from "./boxes.js" */
/** @import {CubeState} from "./body.js" */
/** @import {Index} from "./component.d.ts" */

/**
 * Return true if an element is not cut away.
 * @param {Index} index
 * @param {number[]} cut
 */
export const isLeft = (index, cut) => index.every((v, axis) => v >= cut[axis]);

/**
 * Return the box of an element in every copy.
 * @param {Pick<CubeState, "hover" | "at" | "staged">} cube
 * @param {Index} index
 */
export function boxesOf({ hover, at, staged }, index) {
  const found = boxes(
    staged ?? at,
    hover.order,
    index.map((v) => [v, v + 1]),
  );
  return hover.copies.flatMap((copy) => beside(copy, found));
}

/**
 * Return the boxes of an element's field in every copy. Without a field it is a point, as Plotly would drop an empty
 * trace from the scene.
 * @param {CubeState} cube
 * @param {Index} index
 * @param {"bounds" | "dashed"} name of the field
 */
function fieldOf({ hover, at, staged, cut }, index, name) {
  return hover.copies.flatMap((copy) => {
    const bounds = copy[name];
    if (!bounds) return POINT;
    const range = index.map((v, axis) => left(bounds[axis][v], cut[axis]));
    return beside(copy, boxes(staged ?? at, hover.order, range));
  });
}

/**
 * Return the traces that show an element and its field.
 * @param {CubeState} cube
 * @param {Index} index
 */
export function highlight(cube, index) {
  const { hover, staged, part, hues } = cube;
  const bounds = fieldOf(cube, index, "bounds");
  const dashed = fieldOf(cube, index, "dashed");
  const most = hover.framed * hover.copies.length;
  /** @type {(found: Box[]) => ReturnType<typeof lines>} */
  const frames = (found) => lines(found.length > most ? POINT : found, 0.04);
  const role = part ?? staged?.role;
  const lit = role === "mean" && hover.copies.every((copy) => copy.dashed) ? dashed : bounds;
  return {
    field: { ...mesh(part || (hover.filled && !staged) ? lit : POINT, 0.03), color: hues[part ?? "field"] },
    edges: frames(lit),
    summation: frames(role ? POINT : dashed),
    element: mesh(boxesOf(cube, index), hover.swell),
  };
}
