// Where cells stand, and what is drawn of them: an element's place is the sum of one offset an axis, and it fills a box
// of one size, [1, 1, 1] but for cells that are pulled apart and fields that collapse.

const FREE = 0.54;
const WIDEST = 1; // of a row of cells, how much gaps may add to it, and the widest one, in cells
const SEEN = 300; // boxes that are framed one by one
export const NAMES = ["n", "h", "w", "c"];

// The indices of each axis before which there is a gap: of those that are pulled apart, or where one field ends and the
// next begins. Axes that lie within one dimension part where what runs within them does.
export function breaksOf({ shape, dimensions, copies: [{ bounds }] }, gaps) {
  const breaks = shape.map((n, axis) =>
    Array.from({ length: n }, (_, i) => i).filter(
      (i) =>
        i > 0 &&
        (gaps.includes(NAMES[axis]) ||
          (gaps.includes("fields") && bounds && bounds[axis][i - 1][1] <= bounds[axis][i][0])),
    ),
  );
  for (const along of dimensions.slice(0, 3))
    for (const [nth, axis] of [...along.entries()].reverse()) {
      if (along.slice(nth + 1).some((inner) => breaks[inner].length))
        breaks[axis] = [...Array(shape[axis]).keys()].slice(1);
    }
  return breaks;
}

// The cells pulled apart: with gaps between them they are smaller, so that all stand in the same room.
export function pulled(hover, gaps) {
  const { shape, dimensions } = hover;
  const breaks = breaksOf(hover, gaps);
  const size = [1, 1, 1];
  const offsets = hover.offsets.map((all) => Array.from(all, (at) => [...at]));
  dimensions.slice(0, 3).forEach((along, d) => {
    const rows = (gap) => {
      // places of the indices of each axis, the innermost first, and all
      let span = 1;
      const places = [...along].reverse().map((axis) => {
        let passed = 0;
        const found = Array.from({ length: shape[axis] }, (_, i) => {
          passed += breaks[axis].includes(i);
          return i * span + gap * passed;
        });
        span += found.at(-1);
        return [axis, found];
      });
      return [places, span];
    };
    const [, cells] = rows(0);
    const gap = Math.min(WIDEST, (FREE * cells) / (rows(1)[1] - cells || 1));
    const [places, span] = rows(gap);
    for (const [axis, found] of places)
      found.forEach((at, i) => {
        offsets[axis][i][d] = (at * cells) / span;
      });
    size[d] = cells / span;
  });
  return { offsets, size, breaks };
}

// The cells of each of these ranges of indices in one cell in their middle, of which each is a slice.
export function gathered({ offsets, size }, { dimensions }, bounds) {
  const found = { offsets: [...offsets], size: [...size] };
  dimensions.forEach((along, dimension) => {
    const d = dimension < 3 ? dimension : 1; // blocks are laid behind each other
    for (const axis of along) {
      found.size[d] /= bounds[axis][0][1] - bounds[axis][0][0];
      let middle = null;
      found.offsets[axis] = Array.from(bounds[axis], ([lo, hi], i) => {
        if (i === lo) {
          const sum = offsets[axis].slice(lo, hi).reduce((all, at) => all.map((v, e) => v + at[e]), [0, 0, 0]);
          middle = sum.map((v) => v / (hi - lo));
        }
        return middle.map((v, e) => (e === d ? v + (i - lo) * found.size[d] : v));
      });
    }
  });
  return found;
}

// The boxes that make up a field: an index range per axis -> [{origin, size}], with cells that touch merged.
export function boxes({ offsets, size }, order, range) {
  let found = [{ origin: [0, 0, 0], size: [...size] }];
  for (const axis of order) {
    const [lo, hi] = range[axis];
    const grown = [];
    for (const box of found) {
      let run = null;
      for (let i = lo; i < hi; i++) {
        const step = run && [0, 1, 2].map((d) => offsets[axis][i][d] - offsets[axis][i - 1][d]);
        const near = (a, b, d) => Math.abs(a - b) < 1e-3 * size[d]; // cells that have collapsed are thin
        const d = step ? step.findIndex((v, e) => !near(v, 0, e)) : -1;
        if (d >= 0 && step.every((v, e) => near(v, e === d ? box.size[d] : 0, e))) run.size[d] += box.size[d];
        else {
          run = { origin: box.origin.map((v, e) => v + offsets[axis][i][e]), size: [...box.size] };
          grown.push(run);
        }
      }
    }
    found = grown;
  }
  return found;
}

export const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, (n >> 2) & 1]);
export const SIDES = [
  [0, 1, 3, 2],
  [4, 5, 7, 6],
  [0, 1, 5, 4],
  [2, 3, 7, 6],
  [0, 2, 6, 4],
  [1, 3, 7, 5],
];
const NORMALS = [2, 2, 1, 1, 0, 0]; // the axis that a side looks along
const EDGES = CORNERS.flatMap((_, n) => [1, 2, 4].filter((bit) => !(n & bit)).map((bit) => [n, n | bit]));

// Boxes of a picture, where a copy of it has them; `shift`: how far the copy is from it.
const HERE = [0, 0, 0];
export const beside = ({ shift = HERE }, found) =>
  found.map(({ origin, size }) => ({ origin: origin.map((v, d) => v + shift[d]), size }));

export const POINT = [{ origin: [0, 0, 0], size: [0, 0, 0] }];
export const corner = (n, e, size, swell) => (size[e] === 0 ? 0 : CORNERS[n][e] ? size[e] + swell : -swell);

export function mesh(found, swell) {
  const m = { x: [], y: [], z: [], i: [], j: [], k: [] };
  for (const { origin, size } of found.length ? found : POINT) {
    for (const side of SIDES) {
      const first = m.x.length;
      for (const n of side) for (const e of [0, 1, 2]) m["xyz"[e]].push(origin[e] + corner(n, e, size, swell));
      m.i.push(first, first);
      m.j.push(first + 1, first + 2);
      m.k.push(first + 2, first + 3);
    }
  }
  return m;
}

// The faces of all cells that can be seen, in every copy, as one mesh, and the cell behind each face of the first copy.
// Corners are not shared: each keeps the flat colour of its cell, and tells which one it belongs to.
export function surface({ offsets, shape, copies }, now, cut, levels) {
  const rooms = placed(offsets);
  const places = placed(now.offsets);
  const extent = rooms.map((all) => all.reduce((most, at) => Math.max(most, at), 0) + 1);
  const steps = [extent[1] * extent[2], extent[2], 1];
  const count = rooms[0].length;
  const left = shape.reduce(
    (found, n, axis) => found.flatMap((is) => Array.from({ length: n }, (_, i) => is && i >= cut[axis])),
    [true],
  );
  const taken = new Int32Array(extent[0] * steps[0]).fill(-1);
  const at = rooms[0].map((x, cell) => x * steps[0] + rooms[1][cell] * steps[1] + rooms[2][cell]);
  at.forEach((room, cell) => {
    if (left[cell]) taken[room] = cell;
  });

  const cells = [];
  const sides = [];
  NORMALS.forEach((d, number) => {
    const far = number % 2;
    const border = far ? extent[d] - 1 : 0;
    const step = far ? steps[d] : -steps[d];
    const most = 1.1 * now.size[d]; // from a cell to one that it touches
    for (let cell = 0; cell < count; cell++) {
      if (!left[cell]) continue;
      const next = rooms[d][cell] === border ? -1 : taken[at[cell] + step];
      if (next >= 0 && Math.abs(places[d][next] - places[d][cell]) < most) continue;
      cells.push(cell);
      sides.push(number);
    }
  });

  const faces = cells.length * copies.length;
  const [x, y, z, intensity] = [0, 0, 0, 0].map(() => new Float32Array(4 * faces));
  const [i, j, k] = [0, 0, 0].map(() => new Uint32Array(2 * faces));
  copies.forEach(({ shift }, copy) => {
    stand({ cells, sides }, places, now.size, { x, y, z }, copy * cells.length, shift);
    paint(cells, levels.subarray(copy * count, (copy + 1) * count), intensity, copy * cells.length);
  });
  for (let face = 0; face < faces; face++) {
    const first = 4 * face;
    const triangle = 2 * face;
    i[triangle] = i[triangle + 1] = first;
    j[triangle] = first + 1;
    k[triangle] = j[triangle + 1] = first + 2;
    k[triangle + 1] = first + 3;
  }
  return { cells, sides, mesh: { x, y, z, i, j, k, intensity } };
}

// The corners of all faces of a copy, for cells at these places and of this size.
export function stand({ cells, sides }, places, size, { x, y, z }, from = 0, shift = HERE) {
  cells.forEach((cell, number) => {
    SIDES[sides[number]].forEach((n, nth) => {
      const at = 4 * (from + number) + nth;
      const corner = CORNERS[n];
      x[at] = places[0][cell] + corner[0] * size[0] + shift[0];
      y[at] = places[1][cell] + corner[1] * size[1] + shift[1];
      z[at] = places[2][cell] + corner[2] * size[2] + shift[2];
    });
  });
}

// The mesh of a surface in the colours of a picture: red, green and blue of every cell, for both triangles of a face.
export function pictured({ cells, mesh: { intensity, ...corners } }, pixels) {
  const hues = cells.map((cell) => `rgb(${pixels[cell].join()})`);
  return { ...corners, facecolor: Array.from(corners.i, (_, triangle) => hues[(triangle >> 1) % hues.length]) };
}

// The level of each of their corners.
export function paint(cells, levels, intensity, from) {
  cells.forEach((cell, number) => {
    intensity.fill(levels[cell], 4 * (from + number), 4 * (from + number) + 4);
  });
}

// The places of all elements along x, y and z, in the order of the tensor.
export function placed(offsets) {
  return [0, 1, 2].map((d) =>
    offsets.reduce((found, offset) => {
      const next = new Float32Array(found.length * offset.length);
      found.forEach((sum, at) => {
        offset.forEach((step, i) => {
          next[at * offset.length + i] = sum + step[d];
        });
      });
      return next;
    }, new Float32Array(1)),
  );
}

// What is left of a range of indices.
export const left = ([lo, hi], cut) => [Math.max(lo, cut), hi];

// The boxes of all elements that have come together, range by range; none where there are too many to be told apart.
export function united(at, bounds, order, cut) {
  const ranges = bounds.map((all) => Array.from(all).filter(([lo], i) => lo === i));
  if (ranges.reduce((count, all) => count * all.length, 1) > SEEN) return [];
  return ranges
    .reduce((found, all) => found.flatMap((some) => all.map((range) => [...some, range])), [[]])
    .flatMap((some) =>
      boxes(
        at,
        order,
        some.map((range, axis) => left(range, cut[axis])),
      ),
    );
}

// The places where cells begin along x, y or z, in the order of their indices.
export const along = ({ dimensions }, { offsets }, d) =>
  dimensions[d].reduce((found, axis) => found.flatMap((at) => Array.from(offsets[axis], (step) => at + step[d])), [0]);

// Lines on the outside of every block of cells without a gap, in every copy: between all cells, or its edges only.
export function grid({ dimensions, copies, fine, framed }, { offsets, size }, cut) {
  const shown = (axis) => Array.from(offsets[axis]).slice(cut[axis]);
  const sums = (along, start) =>
    along.reduce(
      (found, axis) => found.flatMap((at) => shown(axis).map((step) => at.map((v, d) => v + step[d]))),
      [start],
    );
  const runs = [0, 1, 2].map((d) =>
    sums(dimensions[d], [0, 0, 0])
      .map((at) => at[d])
      .reduce((found, at) => {
        const run = found.at(-1);
        if (run && at - run.at(-1) < 1.1 * size[d]) run.push(at);
        else found.push([at]);
        return found;
      }, []),
  );
  const origins = sums(dimensions[3], [0, 0, 0]).flatMap((at) =>
    copies.map(({ shift = HERE }) => at.map((v, d) => v + shift[d])),
  );
  const m = { x: [], y: [], z: [] };
  if (origins.length * runs[0].length * runs[1].length * runs[2].length > framed * copies.length) return lines([], 0);
  for (const origin of origins)
    for (const x of runs[0])
      for (const y of runs[1])
        for (const z of runs[2]) {
          const ticks = [x, y, z].map((run, d) => [...run, run.at(-1) + size[d]].map((at) => at + origin[d]));
          const ends = ticks.map((all) => [all[0], all.at(-1)]);
          const steps = fine ? ticks : ends;
          for (const d of [0, 1, 2]) {
            const [e, f] = [0, 1, 2].filter((other) => other !== d);
            for (const a of steps[e])
              for (const b of steps[f]) {
                if (!ends[e].includes(a) && !ends[f].includes(b)) continue;
                for (const end of ends[d])
                  for (const [axis, at] of [
                    [d, end],
                    [e, a],
                    [f, b],
                  ])
                    m["xyz"[axis]].push(at);
                for (const axis of "xyz") m[axis].push(null);
              }
          }
        }
  return m;
}

export function lines(found, swell) {
  const m = { x: [], y: [], z: [] };
  for (const { origin, size } of found.length ? found : POINT)
    for (const edge of EDGES) {
      for (const n of edge) for (const e of [0, 1, 2]) m["xyz"[e]].push(origin[e] + corner(n, e, size, swell));
      for (const d of ["x", "y", "z"]) m[d].push(null);
    }
  return m;
}
