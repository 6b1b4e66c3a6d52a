// The scene of a cube: its fit into the frame, its camera, and the texts around it.

import { computeBearing, placeCamera, zoomSides } from "./camera.js";
import { listCellStarts } from "./cells.js";
import { COLOUR_BAR_WIDTH, computeShifts, fitScene } from "./framing.js";
import { isSameList } from "./indices.js";
import { Labels, layOutTexts, placeNote, projectCorners } from "./labels.js";
import { getCamera, getSides } from "./plotly_internals.js";
import { createProjection } from "./pointing.js";

/** @import {Box} from "./boxes.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Container, Frame} from "./framing.js" */
/** @import {Note, PlacedText, Project} from "./labels.js" */
/** @import {Camera, Copy, Hover, Place, Scene} from "./messages.d.ts" */
/** @import {Standing} from "./cells.js" */
/** @import {Graph} from "./plotly.d.ts" */
/** @import {SceneProjection} from "./plotly_internals.js" */

/** @typedef {{forms: string[], box: Box, colour: string}} Mark */

const REST = 500; // ms without a change after which the camera is at rest
const NEAR = 1e-3; // cells

/**
 * Return the function from a place in a scene to its pixel in the picture.
 * @param {SceneProjection} scene
 * @returns {Project}
 */
function createProject(scene) {
  const at = createProjection(scene);
  const { width, height } = scene.box;
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
    this.frame = fitScene(hover, scene, container);
    this.keepView(scene, camera);
    this.place(hover.copies, scene.camera.eye);
  }

  /**
   * Set the current camera and zoom in a new scene. Plotly's uirevision would lose both when the proportions change.
   * @param {Scene} scene
   * @param {number[]} camera the bearing at first
   */
  keepView(scene, camera) {
    const { zoom } = this;
    this.first = { camera: scene.camera, sides: { ...scene.aspectratio } };
    this.firstBearing = computeBearing(scene.camera.eye, 1);
    scene.camera = this.isDrawn ? getCamera(this.graph) : placeCamera(scene.camera, camera);
    scene.aspectratio = zoomSides(scene.aspectratio, this.isDrawn ? [0, 0, zoom] : camera);
  }

  /** Return the factor by which scrolling has scaled the sides of the scene. */
  get zoom() {
    return this.isDrawn ? getSides(this.graph).x / this.first.sides.x : 1;
  }

  /**
   * Turn the camera to a bearing, by default to the server's.
   * @param {number[]} camera
   */
  turnTo(camera) {
    return window.Plotly.relayout(this.graph, {
      "scene.camera": placeCamera(this.first.camera, camera),
      "scene.aspectratio": zoomSides(this.first.sides, camera),
    });
  }

  /**
   * Set the position of each copy for an eye; return true if they move.
   * @param {Copy[]} copies
   * @param {Place} eye
   */
  place(copies, eye) {
    const now = computeShifts(this.frame, eye);
    if (copies.every(({ shift }, k) => shift?.every((v, d) => Math.abs(v - now[k][d]) < NEAR))) return false;
    copies.forEach((copy, k) => {
      copy.shift = now[k];
    });
    return true;
  }

  /**
   * Set the copies to earlier positions; return true if the camera was turned in the meantime.
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
   * @param {string[]} results what each of several cubes says of it
   */
  write(scene, hover, cells, mark, results) {
    const place = createProject(scene);
    const { extent, each } = hover.labels;
    const middles = each[0].ticks.map((lengths, d) =>
      lengths.length ? listCellStarts(hover, cells, d).map((v) => v + cells.size[d] / 2) : [],
    );
    /** @type {PlacedText[]} */
    const texts = [];
    each.forEach((one, k) => {
      const [dx, dy, dz] = hover.copies[k].shift ?? [0, 0, 0];
      /** @type {Project} */
      const project = ([x, y, z]) => place([x + dx, y + dy, z + dz]);
      const written = { ...one, extent, middles, overhang: hover.overhang, result: results[k] };
      texts.push(...layOutTexts(written, project, this.frame.style, texts));
    });
    this.labels.show(texts, mark && this.note(mark, texts, scene, extent), mark?.colour);
    return hover.copies.length > 1 && this.place(hover.copies, getCamera(this.graph).eye);
  }

  /**
   * Place the note on an element outside of the cube, in the first form that has room.
   * @param {Mark} mark
   * @param {PlacedText[]} others
   * @param {SceneProjection} scene
   * @param {Numbers} extent
   */
  note({ forms, box }, others, scene, extent) {
    const project = createProject(scene);
    const frame = this.graph.getBoundingClientRect();
    const picture = { style: this.frame.style, others, width: frame.width - COLOUR_BAR_WIDTH, height: frame.height };
    const middle = project(Array.from(box.origin, (v, d) => v + box.size[d] / 2));
    const corners = projectCorners([0, 0, 0], extent, project);
    return forms.reduce(
      (note, words) => note ?? placeNote(words, middle, corners, picture),
      /** @type {Note | null} */ (null),
    );
  }

  /** Return true if the camera is not at the server's bearing. */
  get isTurned() {
    return !isSameList(computeBearing(getCamera(this.graph).eye, this.zoom), this.firstBearing);
  }

  /**
   * Report the camera's bearing once it comes to rest at a new place; [] at the server's bearing.
   * @param {(camera: number[]) => void} report
   */
  watchCamera(report) {
    const now = computeBearing(getCamera(this.graph).eye, this.zoom);
    if (isSameList(now, this.bearing)) return;
    const isFirst = !this.bearing;
    this.bearing = now;
    clearTimeout(this.timer);
    if (!isFirst) this.timer = setTimeout(() => report(isSameList(now, this.firstBearing) ? [] : now), REST);
  }
}
