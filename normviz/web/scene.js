// The scene of a cube: how it is fitted into its frame, where the camera is, and what is written around it.

import { bearing, lookFrom, nearer } from "./camera.js";
import { along } from "./cells.js";
import { BAR, framed, shifts } from "./framing.js";
import { same } from "./indices.js";
import { cornersOf, Labels, noteAt, written } from "./labels.js";
import { getCamera, getSides } from "./plotly_internals.js";
import { projection } from "./pointing.js";

/** @import {Box} from "./boxes.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Container, Frame} from "./framing.js" */
/** @import {PlacedText, Project} from "./labels.js" */
/** @import {Camera, Copy, Hover, Place, Scene} from "./messages.d.ts" */
/** @import {Standing} from "./cells.js" */
/** @import {Graph} from "./plotly.d.ts" */
/** @import {SceneProjection} from "./plotly_internals.js" */

/** @typedef {{words: string, box: Box, colour: string}} Mark */

const REST = 500; // ms without a change before the camera has come to rest
const NEAR = 1e-3; // cells

/**
 * Return what brings a place in a scene to its pixel in the picture.
 * @param {SceneProjection} scene
 * @returns {Project}
 */
function placeIn(scene) {
  const at = projection(scene);
  const { width, height } = scene.container.getBoundingClientRect();
  const { offsetLeft: left, offsetTop: top } = scene.container;
  return ([x, y, z]) => {
    const [a, b] = at(x, y, z);
    return [left + ((1 + a) / 2) * width, top + ((1 - b) / 2) * height];
  };
}

export class CubeScene {
  isDrawn = false;
  /** The camera and the sides that the server sent. */
  first = /** @type {{camera: Camera, sides: Place}} */ ({});
  /** @type {number[]} */
  firstBearing = [];
  /** @type {number[] | null} */
  bearing = null;
  frame = /** @type {Frame} */ ({});
  timer = 0;

  /**
   * @param {Graph} graph
   * @param {Element} labels
   */
  constructor(graph, labels) {
    this.graph = graph;
    this.labels = new Labels(labels);
  }

  /**
   * Fit a scene that is to be drawn, with what is written around it, into its container. The camera stays where it is; at
   * first it is at a bearing.
   * @param {Scene} scene
   * @param {Hover} hover
   * @param {Container} container
   * @param {number[]} camera
   */
  fit(scene, hover, container, camera) {
    this.frame = framed(hover, scene, container);
    this.keepView(scene, camera);
    this.place(hover.copies, scene.camera.eye);
  }

  /**
   * Give a scene the camera and the zoom of now. Plotly's uirevision would lose both when the proportions change.
   * @param {Scene} scene
   * @param {number[]} camera the bearing at first
   */
  keepView(scene, camera) {
    const { zoom } = this;
    this.first = { camera: scene.camera, sides: { ...scene.aspectratio } };
    this.firstBearing = bearing(scene.camera.eye, 1);
    scene.camera = this.isDrawn ? getCamera(this.graph) : lookFrom(scene.camera, camera);
    scene.aspectratio = nearer(scene.aspectratio, this.isDrawn ? [0, 0, zoom] : camera);
  }

  /** The factor by which scrolling has scaled the sides of the scene. */
  get zoom() {
    return this.isDrawn ? getSides(this.graph).x / this.first.sides.x : 1;
  }

  /**
   * Turn the camera to a bearing; none: back to where the server had it.
   * @param {number[]} camera
   */
  turnTo(camera) {
    return window.Plotly.relayout(this.graph, {
      "scene.camera": lookFrom(this.first.camera, camera),
      "scene.aspectratio": nearer(this.first.sides, camera),
    });
  }

  /**
   * Set where each copy stands, for an eye; return true if they move.
   * @param {Copy[]} copies
   * @param {Place} eye
   */
  place(copies, eye) {
    const now = shifts(this.frame, eye);
    if (copies.every(({ shift }, k) => shift?.every((v, d) => Math.abs(v - now[k][d]) < NEAR))) return false;
    copies.forEach((copy, k) => {
      copy.shift = now[k];
    });
    return true;
  }

  /**
   * Set the copies where those before them stood; return true if the camera has been turned away from there meanwhile.
   * @param {Copy[]} copies
   * @param {Copy[]} before
   */
  placeAsBefore(copies, before) {
    copies.forEach((copy, k) => {
      copy.shift = before[k].shift;
    });
    return this.place(copies, getCamera(this.graph).eye);
  }

  /**
   * Write titles and numbers around every copy, as it is projected now. Copies stay beside each other however they are
   * turned: return true if they move.
   * @param {SceneProjection} scene
   * @param {Hover} hover
   * @param {Standing} cells
   * @param {Mark | null} mark what one cube says of the element that is shown
   */
  write(scene, hover, cells, mark) {
    const place = placeIn(scene);
    const { extent, each } = hover.labels;
    const ticks = each[0].ticks.map((count, d) =>
      count ? along(hover, cells, d).map((v) => v + cells.size[d] / 2) : [],
    );
    /** @type {PlacedText[]} */
    const texts = [];
    each.forEach((one, k) => {
      const [dx, dy, dz] = hover.copies[k].shift ?? [0, 0, 0];
      /** @type {Project} */
      const project = ([x, y, z]) => place([x + dx, y + dy, z + dz]);
      texts.push(...written({ ...one, extent, ticks, swell: hover.swell }, project, this.frame.style, texts));
    });
    this.labels.show(texts, mark && this.note(mark, texts, scene, extent), mark?.colour);
    return hover.copies.length > 1 && this.place(hover.copies, getCamera(this.graph).eye);
  }

  /**
   * Place the note on an element outside of the cube.
   * @param {Mark} mark
   * @param {PlacedText[]} others
   * @param {SceneProjection} scene
   * @param {Numbers} extent
   */
  note({ words, box }, others, scene, extent) {
    const project = placeIn(scene);
    const frame = this.graph.getBoundingClientRect();
    const picture = { style: this.frame.style, others, width: frame.width - BAR, height: frame.height };
    const middle = project(Array.from(box.origin, (v, d) => v + box.size[d] / 2));
    return noteAt(words, middle, cornersOf([0, 0, 0], extent, project), picture);
  }

  /** Return true if the camera stands elsewhere than the server had it. */
  get isTurned() {
    return !same(bearing(getCamera(this.graph).eye, this.zoom), this.firstBearing);
  }

  /**
   * Report the camera's bearing once it has come to rest elsewhere than before; where the server had it, no bearing.
   * @param {(camera: number[]) => void} report
   */
  watchCamera(report) {
    const now = bearing(getCamera(this.graph).eye, this.zoom);
    if (same(now, this.bearing)) return;
    const isFirst = !this.bearing;
    this.bearing = now;
    clearTimeout(this.timer);
    if (!isFirst) this.timer = setTimeout(() => report(same(now, this.firstBearing) ? [] : now), REST);
  }
}
