"""The parts of each page that a link can show alone, cover or hide: its figures and its tabs."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PageFigure:
    """A figure of a page, which a link can show alone: its label, and the panels that contain it.

    Attributes:
        label: its name in the Share dialog.
        panels: the panels or tabs that show it, as in the page's values; () if every one does.
    """

    label: str
    panels: tuple[str, ...] = ()


@dataclass(frozen=True)
class PageParts:
    """The figures and tabs of a page.

    Attributes:
        figures: by the CSS keys of their containers; the main figure of a panel comes first.
        panel: the name of the value that says which panel or tab is open; "" if there is none.
        tabs: the CSS keys of the widgets that choose the panel.
    """

    figures: Mapping[str, PageFigure]
    panel: str = ""
    tabs: tuple[str, ...] = ()


PAGE_PARTS: dict[str, PageParts] = {
    "lab": PageParts(
        {
            "cube": PageFigure("Cube"),
            "element": PageFigure("Formulas of one element"),
            "histograms": PageFigure("Histograms", ("distribution",)),
            "response": PageFigure("Response curves", ("response",)),
            "picture": PageFigure("Pictures", ("picture",)),
        },
        "tab",
        ("tab",),
    ),
    "compare": PageParts({"cubes": PageFigure("Cubes")}),
    "identities": PageParts(
        {
            "pair": PageFigure("Question and cubes", ("same",)),
            "cubes": PageFigure("Cubes", ("same", "variants", "own")),
        },
        "panel",
        ("identities-panel",),
    ),
    "why": PageParts(
        {
            "learning": PageFigure("Learning without normalization", ("learning",)),
            "learning-normalized": PageFigure("Learning with normalization", ("learning",)),
            "rates": PageFigure("Learning rates", ("learning",)),
            "bands": PageFigure("Saturation without normalization", ("saturation",)),
            "bands-normalized": PageFigure("Saturation with normalization", ("saturation",)),
            "saturated": PageFigure("Saturated units", ("saturation",)),
            "made": PageFigure("Points after the step", ("whitening",)),
            "before": PageFigure("Points before the step", ("whitening",)),
            "batches": PageFigure("Points by batch", ("whitening",)),
            "bias": PageFigure("Bias", ("outside",)),
            "loss": PageFigure("Loss", ("outside",)),
            "lines": PageFigure("Lines", ("identity",)),
        },
        "show",
        ("why-show-row", "why-show-advanced"),
    ),
    "table": PageParts({"case": PageFigure("Open case"), "cases": PageFigure("Table of all cases")}),
    "gradients": PageParts(
        {
            "chain": PageFigure("Computation, step by step", ("graph",)),
            "incoming": PageFigure("Incoming gradient", ("formula",)),
            "outgoing": PageFigure("Outgoing gradient", ("formula",)),
            "jacobian": PageFigure("Jacobian matrix", ("jacobian",)),
        },
        "show",
        ("gradients-show",),
    ),
    "geometry": PageParts(
        {
            "space": PageFigure("Vectors in three dimensions", ("vectors",)),
            "lengths": PageFigure("Length of the weights", ("rate",)),
            "effective": PageFigure("Effective learning rate", ("rate",)),
        },
        "show",
        ("geometry-show",),
    ),
    "running": PageParts(
        {
            "batch": PageFigure("Batch", ("switch",)),
            "stream": PageFigure("Averages by step", ("switch",)),
            "effect": PageFigure("Effect", ("wrong", "companions")),
        },
        "panel",
        ("running-panel",),
    ),
    "experiments": PageParts({"lead": PageFigure("Main figure")}, tabs=("experiments-show",)),
    "weights": PageParts(
        {
            "loss": PageFigure("Loss by step", ("norm",)),
            "plane": PageFigure("Weights in the plane", ("norm",)),
            "ellipses": PageFigure("Unit circle and its image", ("spectral",)),
            "ratios": PageFigure("Histograms of the ratio", ("spectral",)),
        },
        "show",
        ("weights-show",),
    ),
    "divisive": PageParts({"contrast": PageFigure("Pictures"), "response": PageFigure("Response curves")}),
    "design": PageParts({"answers": PageFigure("Pictures of the answers"), "cubes": PageFigure("Cubes")}),
    "model": PageParts({"findings": PageFigure("Table"), "channels": PageFigure("Picture of the row")}),
    "claims": PageParts({}),
}
"""The parts of each page by its name, `PAGE` of its state."""


def get_page_parts(page: str) -> PageParts:
    """Return the figures and tabs of a page in `PAGE_PARTS`; none for a page that is not listed there."""
    return PAGE_PARTS.get(page, PageParts({}))


def list_figures(page: str, view: Mapping[str, object]) -> dict[str, str]:
    """Map the keys of the figures that a page shows with these values to their labels, the main figure first."""
    parts = get_page_parts(page)
    shown = view.get(parts.panel)
    return {key: each.label for key, each in parts.figures.items() if not each.panels or shown in each.panels}
