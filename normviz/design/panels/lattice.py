"""The panel on the sets of invariances that there are: how many, their order as a picture, and one of them in words."""

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st

from normviz.core.schemes import Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design import figures
from normviz.design import lattice_words as words
from normviz.design.lattice import Order, Trained, order, simplest
from normviz.design.panels import training
from normviz.design.panels.ways import table_link
from normviz.design.search import Invariances, Kind
from normviz.design.state import PREFIX, fronts
from normviz.ui.components.diagram import diagram
from normviz.ui.frame import way
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.scheme import link_of


def show(view: View, theme: str) -> None:
    """All of it."""
    layer, front = view["layer"], fronts(view)
    every = order(layer, front)
    st.markdown(words.headline(every, layer, front))
    training.show(view, lambda trained: picture(view, trained))
    st.markdown(f"### Why there are no more\n\n{listed(words.limits(every, layer, front))}")
    st.caption(f"{words.shape_of(every)} {words.count_of(layer)}")


def picture(view: View, trained: Mapping[Invariances, Trained]) -> None:
    """The map, with what training says of the schemes of a set, as far as there is such; the chosen set; and a table.

    Each element has its place in every run, with and without `trained`, so that it may be drawn again in a fragment.
    """
    every = order(view["layer"], fronts(view))
    kind = every.nearest(view["set"])
    alt = (
        f"{len(every.kinds)} sets of invariances {words.where(view['layer'], fronts(view))}, in rows by their number, "
        "with a line from each to those right above it. The table below has them too."
    )
    diagram(figures.picture(every, kind.invariances, trained), "map", alt, choose)
    chosen(kind, every, view, trained.get(kind.invariances))
    st.markdown("### All sets, as a table")
    st.table(words.columns(every, trained), border="horizontal")
    save_table(lambda: words.numbers(every, trained), f"map-{view['layer']}")


def chosen(kind: Kind, every: Order, view: View, trained: Trained | None) -> None:
    """The chosen set in words, and the ways on from it."""
    layer, front = view["layer"], fronts(view)
    missing = {*kind.invariances} != {*view["set"]}
    st.markdown(f"### The chosen set: {len(kind.invariances)} of {len(TRANSFORMATIONS)} ignored")
    st.markdown(
        f"{words.none(view['set'], layer, front)} This set differs least from that:\n\n" * missing
        + listed(words.told(kind, every, layer, front, trained))
    )
    simple = simplest(kind, layer, front)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Find these schemes", icon=":material/search:", on_click=find, args=(kind,), key="find these")
        way(table_address(kind, layer, simple), "Measured and trained in", ":material/grid_on:")
        way(f"/?{urlencode(link_of(simple))}", "The simplest, in the", ":material/view_in_ar:")


def listed(lines: list[str]) -> str:
    """Lines as a list."""
    return "\n".join(f"- {line}" for line in lines)


def table_address(kind: Kind, layer: str, simple: Scheme) -> str:
    """Table 1 with the schemes of a set that have a name, or else with its simplest."""
    link = {"schemes": ",".join(kind.names.keys)} if kind.names.keys else table_link(simple)
    return f"/invariance?{urlencode({'layer': layer} | link)}"


def choose() -> None:
    """Take the set that was clicked on."""
    code = st.session_state["map diagram"].chosen
    st.session_state[f"{PREFIX}set"] = code.split(",") if code else []


def find(kind: Kind) -> None:
    """Go to the search, with just these demands."""
    asked = {key: "need" if key in kind.invariances else "without" for key in TRANSFORMATIONS}
    values = asked | {"show": "find", "conditions": []}
    st.session_state.update({f"{PREFIX}{name}": value for name, value in values.items()})
