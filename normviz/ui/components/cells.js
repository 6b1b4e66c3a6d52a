// Where cells stand, and what is drawn of them: an element's place is the sum of one offset an axis, and it fills a box
// of one size, [1, 1, 1] but for fields that collapse.

const WHOLE = [1, 1, 1];
const near = (a, b) => Math.abs(a - b) < 1e-4;

// The boxes that make up a field: an index range per axis -> [{origin, size}], with cells that touch merged.
function boxes({ offsets, size = WHOLE }, order, range) {
  let found = [{ origin: [0, 0, 0], size: [...size] }];
  for (const axis of order) {
    const [lo, hi] = range[axis], grown = [];
    for (const box of found) {
      let run = null;
      for (let i = lo; i < hi; i++) {
        const step = run && [0, 1, 2].map((d) => offsets[axis][i][d] - offsets[axis][i - 1][d]);
        const d = step ? step.findIndex((v) => !near(v, 0)) : -1;
        if (d >= 0 && step.every((v, e) => near(v, e === d ? box.size[d] : 0))) run.size[d] += box.size[d];
        else grown.push(run = { origin: box.origin.map((v, e) => v + offsets[axis][i][e]), size: [...box.size] });
      }
    }
    found = grown;
  }
  return found;
}

const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, (n >> 2) & 1]);
const SIDES = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];
const NORMALS = [2, 2, 1, 1, 0, 0];   // the axis that a side looks along
const EDGES = CORNERS.flatMap((_, n) => [1, 2, 4].filter((bit) => !(n & bit)).map((bit) => [n, n | bit]));

// Boxes of the first copy, where another one has them.
const along = (copy, found) => found.map(({ origin: [x, y, z], size }) => ({ origin: [x + copy.along, y, z], size }));

const POINT = [{ origin: [0, 0, 0], size: [0, 0, 0] }];
const corner = (n, e, size, swell) => (size[e] === 0 ? 0 : CORNERS[n][e] ? size[e] + swell : -swell);

function mesh(found, swell) {
  const m = { x: [], y: [], z: [], i: [], j: [], k: [] };
  for (const { origin, size } of found) {
    for (const side of SIDES) {
      const first = m.x.length;
      for (const n of side) ["x", "y", "z"].forEach((d, e) =>
        m[d].push(origin[e] + corner(n, e, size, swell)));
      m.i.push(first, first); m.j.push(first + 1, first + 2); m.k.push(first + 2, first + 3);
    }
  }
  return m;
}

// The outer faces of all cells, in every copy, as one mesh, and the cell behind each face of the first copy. Corners
// are not shared: each keeps the flat colour of its cell, and tells which one it belongs to.
function surface({ offsets, copies }, levels) {
  const places = placed(offsets);
  const extent = places.map((all) => all.reduce((most, at) => Math.max(most, at), 0) + 1);
  const steps = [extent[1] * extent[2], extent[2], 1], count = places[0].length;
  const taken = new Uint8Array(extent[0] * steps[0]);
  const at = places[0].map((x, cell) => x * steps[0] + places[1][cell] * steps[1] + places[2][cell]);
  at.forEach((place) => { taken[place] = 1; });

  const cells = [], sides = [];
  SIDES.forEach((side, number) => {
    const d = NORMALS[number], far = number % 2, border = far ? extent[d] - 1 : 0, step = far ? steps[d] : -steps[d];
    for (let cell = 0; cell < count; cell++) {
      if (places[d][cell] !== border && taken[at[cell] + step]) continue;
      cells.push(cell);
      sides.push(number);
    }
  });

  const faces = cells.length * copies.length;
  const [x, y, z, intensity] = [0, 0, 0, 0].map(() => new Float32Array(4 * faces));
  const [i, j, k] = [0, 0, 0].map(() => new Uint32Array(2 * faces));
  copies.forEach(({ along }, copy) => {
    stand({ cells, sides }, places, WHOLE, { x, y, z }, copy * cells.length, along);
    paint(cells, levels.subarray(copy * count, (copy + 1) * count), intensity, copy * cells.length);
  });
  for (let face = 0; face < faces; face++) {
    const first = 4 * face, triangle = 2 * face;
    i[triangle] = i[triangle + 1] = first;
    j[triangle] = first + 1;
    k[triangle] = j[triangle + 1] = first + 2;
    k[triangle + 1] = first + 3;
  }
  return { cells, sides, mesh: { x, y, z, i, j, k, intensity } };
}

// The corners of all faces of a copy, for cells at these places and of this size.
function stand({ cells, sides }, places, size, { x, y, z }, from, along) {
  cells.forEach((cell, number) => SIDES[sides[number]].forEach((n, nth) => {
    const at = 4 * (from + number) + nth, corner = CORNERS[n];
    x[at] = places[0][cell] + corner[0] * size[0] + along;
    y[at] = places[1][cell] + corner[1] * size[1];
    z[at] = places[2][cell] + corner[2] * size[2];
  }));
}

// The level of each of their corners.
function paint(cells, levels, intensity, from) {
  cells.forEach((cell, number) => intensity.fill(levels[cell], 4 * (from + number), 4 * (from + number) + 4));
}

// The places of all elements along x, y and z, in the order of the tensor.
function placed(offsets) {
  return [0, 1, 2].map((d) => offsets.reduce((found, offset) => {
    const next = new Float32Array(found.length * offset.length);
    found.forEach((sum, at) => offset.forEach((step, i) => { next[at * offset.length + i] = sum + step[d]; }));
    return next;
  }, new Float32Array(1)));
}

function lines(found, swell) {
  const m = { x: [], y: [], z: [] };
  for (const { origin, size } of found) for (const edge of EDGES) {
    for (const n of edge) ["x", "y", "z"].forEach((d, e) =>
      m[d].push(origin[e] + corner(n, e, size, swell)));
    for (const d of ["x", "y", "z"]) m[d].push(null);
  }
  return m;
}
