// Where the camera stands, in a few digits: degrees around the cube, degrees above it, and how near, 1 as at first.

const DEGREE = Math.PI / 180;
const HIGHEST = 89;

export const bearing = ({ x, y, z }, zoom) => [
  Math.round(Math.atan2(y, x) / DEGREE),
  Math.max(-HIGHEST, Math.min(Math.round(Math.atan2(z, Math.hypot(x, y)) / DEGREE), HIGHEST)),
  Math.round(100 * zoom) / 100,
];

// The camera there; none: as it is.
export function lookFrom(camera, [around, above] = []) {
  if (around === undefined) return camera;
  const far = Math.hypot(camera.eye.x, camera.eye.y, camera.eye.z);
  const [a, b] = [around * DEGREE, above * DEGREE];
  const eye = { x: far * Math.cos(a) * Math.cos(b), y: far * Math.sin(a) * Math.cos(b), z: far * Math.sin(b) };
  return { ...camera, eye };
}

// How long the sides of the scene are when the camera is this near.
export const nearer = (sides, [, , zoom] = []) =>
  Object.fromEntries(["x", "y", "z"].map((d) => [d, sides[d] * (zoom ?? 1)]));
