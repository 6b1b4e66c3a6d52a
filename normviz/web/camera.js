// The camera's bearing: degrees around the cube, degrees above it, and the zoom, initially 1.

/** @import {Camera, Place} from "./messages.d.ts" */

const DEGREE = Math.PI / 180;
const HIGHEST = 89;

/**
 * Return the bearing of an eye position: degrees around and above the cube, and zoom.
 * @param {Place} eye
 * @param {number} zoom
 */
export const computeBearing = ({ x, y, z }, zoom) => [
  Math.round(Math.atan2(y, x) / DEGREE),
  Math.max(-HIGHEST, Math.min(Math.round(Math.atan2(z, Math.hypot(x, y)) / DEGREE), HIGHEST)),
  Math.round(100 * zoom) / 100,
];

/**
 * Return the camera moved to a bearing at its distance; without a bearing, the camera itself.
 * @param {Camera} camera
 * @param {number[]} [bearing]
 */
export function placeCamera(camera, [around, above] = []) {
  if (around === undefined) return camera;
  const far = Math.hypot(camera.eye.x, camera.eye.y, camera.eye.z);
  const [a, b] = [around * DEGREE, above * DEGREE];
  const eye = { x: far * Math.cos(a) * Math.cos(b), y: far * Math.sin(a) * Math.cos(b), z: far * Math.sin(b) };
  return { ...camera, eye };
}

/**
 * Return the scene's side lengths at the zoom of a bearing, by default 1.
 * @param {Place} sides
 * @param {(number | undefined)[]} [bearing]
 */
export const zoomSides = ({ x, y, z }, [, , zoom = 1] = []) => ({ x: x * zoom, y: y * zoom, z: z * zoom });
