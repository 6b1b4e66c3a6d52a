// Saves a picture as it is shown: as PNG, or as SVG with its words.

import { getCamera, getSides } from "./plotly_internals.js";

const SAVE =
  '<summary title="Save this picture" aria-label="Save this picture"><svg viewBox="0 0 16 16" ' +
  'aria-hidden="true"><path d="M8 2v8m-3.5-3.5L8 10l3.5-3.5M2.5 11.5V14h11v-2.5"/></svg></summary>' +
  '<button type="button">PNG</button><button type="button">SVG</button>';

// Behind a picture: a button that opens to the two kinds of files. `described`: its name and its words now; `made`: a
// format -> the file.
export function saver(picture, described, made) {
  const menu = Object.assign(document.createElement("details"), { className: "nv-save", innerHTML: SAVE });
  menu.onclick = async ({ target }) => {
    if (target.tagName !== "BUTTON") return;
    menu.open = false;
    const { name, alt } = described();
    const format = target.textContent.toLowerCase();
    offer(await made(format, alt), `normviz-${name.replaceAll(" ", "-")}.${format}`);
  };
  menu.onkeydown = (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.preventDefault();
    menu.open = false;
    menu.firstChild.focus();
  };
  menu.onfocusout = ({ relatedTarget }) => {
    if (!menu.contains(relatedTarget)) menu.open = false;
  };
  picture.after(menu);
}

// A figure of Plotly's, theme, camera and zoom included; as PNG at twice its size.
export async function figureFile(graph, format, alt, texts) {
  const { clientWidth: width, clientHeight: height, data } = graph;
  const layout = {
    ...graph.layout,
    paper_bgcolor: getComputedStyle(graph.closest(".stApp") ?? document.body).backgroundColor,
  };
  const keyed = layout.meta?.legend === "saved"; // on its page it stands under the key of several charts
  if (keyed) Object.assign(layout, { showlegend: true, legend: {} });
  const { scene } = layout;
  if (scene) layout.scene = { ...scene, camera: getCamera(graph), aspectratio: getSides(graph) };
  const font = { family: getComputedStyle(graph).fontFamily, color: getComputedStyle(graph).color };
  if (scene) {
    // what is written around a cube is the page's, not Plotly's
    layout.annotations = (texts ?? []).map(({ lines, x, y, size }) => ({
      text: lines.join("<br>"),
      showarrow: false,
      xref: "paper",
      yref: "paper",
      x: x / width,
      y: 1 - y / height,
      xanchor: "center",
      yanchor: "middle",
      font: { ...font, size },
    }));
  }
  const scale = format === "png" ? 2 : 1;
  const url = await window.Plotly.toImage(
    { data, layout },
    { format, width: width + (keyed ? 200 : 0), height, scale },
  );
  const content = url.slice(url.indexOf(",") + 1); // of a data URL, which the app's policy does not let a page fetch
  if (format === "png")
    return new Blob([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], { type: "image/png" });
  return drawing(decodeURIComponent(content), alt);
}

// Markup of a drawing as a file, with what it shows in words.
export function drawing(markup, alt) {
  const drawn = new DOMParser().parseFromString(markup, "image/svg+xml");
  const title = drawn.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = alt;
  drawn.documentElement.prepend(title);
  return new Blob([new XMLSerializer().serializeToString(drawn)], { type: "image/svg+xml" });
}

function offer(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
