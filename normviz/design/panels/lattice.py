"""The panel on the sets of invariances that there are."""

from collections.abc import Mapping

import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.core.text import spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.lattice import Trained
from normviz.design.search import Invariances, census
from normviz.design.state import fronts
from normviz.ui.link import View


def show(view: View, theme: str) -> None:
    """All of it."""
    picture(view, theme)


def picture(view: View, theme: str, trained: Mapping[Invariances, Trained] | None = None) -> None:
    """The map, with what training says of the schemes of a set, as far as there is such.

    Each set has its place in every run, with and without `trained`, so that the map may be drawn again in a fragment.
    """
    st.table(table(view, trained or {}), border="horizontal")


def table(view: View, trained: Mapping[Invariances, Trained]) -> dict[str, list[str]]:
    """The map in words, in columns: a row for each set."""
    kinds = census(view["layer"], fronts(view))
    columns = {
        "Absorbed": [absorbed(kind.invariances) for kind in kinds],
        "Schemes": [f"{kind.schemes:,}" for kind in kinds],
        "Named": [", ".join(SCHEMES[key].label for key in kind.named) for kind in kinds],
    }
    if trained:
        columns["Trained"] = [trained[kind.invariances].words if kind.invariances in trained else "" for kind in kinds]
    return columns


def absorbed(invariances: Invariances) -> str:
    """What a set absorbs, in words."""
    return spoken([TRANSFORMATIONS[key].name for key in invariances] or ["nothing"], "and")
