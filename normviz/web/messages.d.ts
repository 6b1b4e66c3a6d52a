// The data that Python sends to a cube, as normviz/web/data.js unpacks it.
// normviz/web/plot_message.py builds PlotMessage, normviz/charts/cube.py builds Hover, Labels and PlayedStages.

import type { Numbers, Statistic } from "./component.d.ts";

/** The arrays that normviz/charts/packing.py sends. */
export type TypedNumbers =
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array
  | Float64Array;

/** The range [lo, hi) of a field at each index of each axis: bounds[axis][index]. */
export type Bounds = Numbers[][];

/** The message to plot.js. */
export interface PlotMessage {
  /** A packed Figure. */
  figure: Uint8Array;
  /** The address of plotly.js. */
  library: string;
  /** The address of the web page that the figure is saved as; empty where it cannot be saved as one. */
  page: string;
  /** The heading of a cube in a web page of its own. */
  title: string;
  /** The key of the element, for the names of saved files. */
  name: string;
  alt: string;
  /** In CSS; null where the style sheet sets it. */
  height: string | null;
  hover: Hover | null;
  /** The index of the locked element. */
  focus: number[] | null;
  /** The letters of an element's indices, such as n, h, w, c. */
  names: string[];
  /** The letter of the tensor. */
  symbol: string;
  /** The names of the copies' results in the readout. */
  labels: string[];
  /** What the colours of a cube mean, as HTML. */
  legend: string;
  /** Why the stages cannot be played; empty where they can. */
  still: string;
  /** The names of the tensor's axes, such as N, H, W, C. */
  axes: string[];
  view: View;
}

/** The state of a figure that is saved as a web page; focus and view are of a cube. Nothing of it in a page from Python. */
export interface SavedState {
  theme?: string;
  focus?: number[];
  view?: View;
}

/** How a cube is looked at: those parts that the page keeps in its link. */
export interface View {
  /** Degrees around the cube, degrees above it, and the zoom; empty at first. */
  camera?: number[];
  /** The axes along which the cells are pulled apart, or "fields". */
  gaps?: string[];
  /** For each axis, how many of the first indices are cut away. */
  cut?: number[];
}

/** What `Figure` of normviz/charts/chart.py sends: traces and a layout in Plotly's words. */
export interface Figure {
  data: Trace[];
  layout: FigureLayout;
}

export interface Trace {
  name?: string;
  /** The level of each cell, or of each corner of the mesh. */
  intensity?: ArrayLike<number>;
  showscale?: boolean;
  /** Of the cells, the colours of their pixels; of the field, its colours by the statistic that is shown. */
  meta?: Numbers[] | Record<string, string> | null;
  /** All that Plotly knows besides. */
  [property: string]: unknown;
}

export interface FigureLayout {
  scene: Scene;
  margin: { b: number };
  legend?: { yref?: string };
  xaxis?: { title?: { text: string } };
  /** All that Plotly knows besides. */
  [property: string]: unknown;
}

/** The scene of a cube in a layout of Plotly. */
export interface Scene {
  xaxis: SceneAxis;
  yaxis: SceneAxis;
  zaxis: SceneAxis;
  aspectratio: Place;
  camera: Camera;
  domain?: { x: number[]; y: number[] };
}

export interface SceneAxis {
  range: number[];
}

export interface Camera {
  eye: Place;
}

export interface Place {
  x: number;
  y: number;
  z: number;
}

/** The cells of a cube, their fields, and the values to be read out. */
export interface Hover {
  /** The lengths of the axes N, H, W and C. */
  shape: number[];
  /** How far an element stands out of its cell, in cells. */
  overhang: number;
  /** offsets[axis][index] is a vector along x, y, z; the place of a cell is the sum over its indices. */
  offsets: Numbers[][];
  /** The axes, finest steps first. */
  order: number[];
  /** The axes along x, along y, along z, and from block to block. */
  dimensions: number[][];
  /** The values of the tensor in row-major order. */
  x: Numbers;
  copies: Copy[];
  /** Whether the field is filled, or framed only. */
  filled: boolean;
  /** Whether there are lines between the cells. */
  fine: boolean;
  /** The largest number of parts of a field, or of blocks, that are framed. */
  framed: number;
  stages: PlayedStages | null;
  labels: LabelsMessage;
}

/** One of the cubes beside each other. */
export interface Copy {
  /** The field of each element. */
  bounds: Bounds | null;
  /** A summation field that differs from the field. */
  dashed: Bounds | null;
  /** The normalized values. */
  xhat: ArrayLike<number>;
  /** How far the copy is from the first one along x, y and z, in cells: set by the browser. */
  shift?: number[];
}

/** What is written around the copies. */
export interface LabelsMessage {
  /** How many cells there are along x, y and z. */
  extent: Numbers;
  /** How long the sides are to look, the longest 1. */
  sides: Numbers;
  each: CopyLabels[];
}

export interface CopyLabels {
  /** The titles along x, y and z. */
  titles: string[];
  /** The colours of the titles; empty for that of the page's text. */
  colours: string[];
  /** The same where there is little room. */
  brief: string[];
  /** The lengths of the axes whose indices are written along x, y and z, the inner axis last. */
  ticks: number[][];
  /** Names of cells along z in place of their indices; empty for none. */
  rows: string[];
  heading: string;
  /** The line below the heading; empty for the result of the chosen element. */
  note: string;
  blocks: Blocks | null;
}

/** The blocks of the unfolded view. */
export interface Blocks {
  name: string;
  /** The letter of a block's index. */
  letter: string;
  origins: Numbers[];
  size: number[];
}

/** The stages of a computation, for the browser to play. */
export interface PlayedStages {
  list: PlayedStage[];
  /** The fields whose elements come together in one cell; null where the cells stand as they are. */
  places: (Bounds | null)[];
  looks: StageLook[];
  /** The level of the lowest value; what is not finite has level 0. */
  band: number;
}

/** A stage with its values: one for each element, or a statistic that elements share. */
export interface PlayedStage extends Statistic {
  symbol: string;
  /** What is done, in a sentence. */
  says: string;
  /** The key of the formula that says the same; empty where there is none. */
  line: string;
  /** The number of its place in `places`. */
  place: number;
  /** The number of its look in `looks`. */
  look: number;
  /** Whether the values come one by one, as a window moves on. */
  slides: boolean;
  /** For each axis of a statistic, how many there are along it, and what is done along it. */
  axes: [count: number, done: string][];
}

export interface StageLook {
  largest: number;
  /** Properties of the cells' trace. */
  trace: Partial<Trace>;
}
