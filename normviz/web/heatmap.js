// A heat map of statistics, with a frame around the statistic of the element that is shown.

import { findStatistic } from "./linked.js";
import { toPixels } from "./plotly_internals.js";

/** @import {Index} from "./component.d.ts" */
/** @import {Graph} from "./plotly.d.ts" */

/**
 * Move the frame of a heat map to the statistic of an element; do nothing for other figures. normviz/topics/lab/panels.py
 * sends the shapes of the statistics and of the tensor.
 * @param {Graph} graph
 * @param {Index} index
 */
export function moveFrame(graph, index) {
  const frame = graph.layout.meta?.frame;
  const start = graph.layout.shapes?.[0];
  if (!frame || !start) return;
  const [column, row] = findStatistic(index, frame.shape, frame.of);
  const across = toPixels(graph, "xaxis", column - 0.5) - toPixels(graph, "xaxis", start.x0);
  const down = toPixels(graph, "yaxis", row - 0.5) - toPixels(graph, "yaxis", start.y0);
  graph.querySelector(".shapelayer path")?.setAttribute("transform", `translate(${across} ${down})`);
}
