// The part of plotly.js that the app uses. Its private members are described in plotly_internals.js.

import type { Place, Trace } from "./messages.d.ts";

export type { Trace };

export interface Layout {
  scene?: { camera: { eye: Place }; aspectratio: Place };
  shapes?: { x0: number; y0: number }[];
  /** Words of the app's own, which Plotly hands through. */
  meta?: {
    /** The shapes of the statistics in a heat map, and of the tensor. */
    frame?: { shape: number[]; of: number[] };
  };
  [property: string]: unknown;
}

/** An element with a figure. `data` and `layout` are there once it has been drawn. */
export interface Graph extends HTMLElement {
  data: Trace[];
  layout: Layout;
}

export interface ImageOptions {
  format: "png" | "svg";
  width: number;
  height: number;
  scale: number;
}

export interface PlotlyLibrary {
  react(graph: Graph, data: Trace[], layout: Layout, config: Record<string, unknown>): Promise<unknown>;
  restyle(graph: Graph, changes: Record<string, unknown[]>, traces: number[]): Promise<unknown>;
  relayout(graph: Graph, changes: Record<string, unknown>): Promise<unknown>;
  purge(graph: Graph): void;
  toImage(figure: { data: Trace[]; layout: Layout }, options: ImageOptions): Promise<string>;
}

declare global {
  interface Window {
    /** Set by the script of plotly.js. */
    Plotly: PlotlyLibrary;
  }
}
