// Where the camera stands, in a few digits: degrees around the cube, degrees above it, and the zoom, 1 at first.

/** @import {Camera, Place} from "./messages.d.ts" */

const DEGREE = Math.PI / 180;
const HIGHEST = 89;

/**
 * Return the degrees around and above the cube and the zoom, for the place of the eye.
 * @param {Place} eye
 * @param {number} zoom
 */
export const bearing = ({ x, y, z }, zoom) => [
  Math.round(Math.atan2(y, x) / DEGREE),
  Math.max(-HIGHEST, Math.min(Math.round(Math.atan2(z, Math.hypot(x, y)) / DEGREE), HIGHEST)),
  Math.round(100 * zoom) / 100,
];

/**
 * Return this camera at a bearing, as far from the cube as before; at none: the camera itself.
 * @param {Camera} camera
 * @param {number[]} [bearing]
 */
export function lookFrom(camera, [around, above] = []) {
  if (around === undefined) return camera;
  const far = Math.hypot(camera.eye.x, camera.eye.y, camera.eye.z);
  const [a, b] = [around * DEGREE, above * DEGREE];
  const eye = { x: far * Math.cos(a) * Math.cos(b), y: far * Math.sin(a) * Math.cos(b), z: far * Math.sin(b) };
  return { ...camera, eye };
}

/**
 * Return the lengths of the scene's sides at the zoom of a bearing; without one: the lengths themselves.
 * @param {Place} sides
 * @param {(number | undefined)[]} [bearing]
 */
export const nearer = ({ x, y, z }, [, , zoom = 1] = []) => ({ x: x * zoom, y: y * zoom, z: z * zoom });
