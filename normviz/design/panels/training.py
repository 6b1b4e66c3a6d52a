"""The map as its schemes are trained: the run, the map with what has come out, and every twin that stands out."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from urllib.parse import urlencode

import streamlit as st

from normviz.describe.wording import plural
from normviz.design import state
from normviz.design.lattice import Trained
from normviz.design.panels.ways import table_link
from normviz.design.search import Invariances
from normviz.design.training import STEPS, Twins, plan, setting_of, total
from normviz.design.training_results import Answer, answers, by_set, columns, tally, told
from normviz.experiments import work
from normviz.experiments.experiment import Results
from normviz.experiments.panels import status
from normviz.networks.problem import NETWORKS
from normviz.ui.frame import way
from normviz.ui.link import View, segments
from normviz.ui.saving import save_table
from normviz.ui.work import POLL

SHOWN = 6
"""Twins that stand out and are shown; the file has all."""

ONE_CHANNEL = (
    "In one thing this differs from the map, which is of layers with several input channels. The digits have one, and "
    "a filter that weight standardization has centred gives 0 for a constant on all of it: behind weight "
    "standardization, every scheme ignores dataset re-centring here."
)
"""Where the layer that is trained differs from those of the map."""

Draw = Callable[[Mapping[Invariances, Trained]], None]


def show(view: View, draw: Draw) -> None:
    """The run, the map below it, which `draw` draws with what has come out so far, and then what stands out."""
    layer, weights = view["layer"], state.fronts(view)
    if state.has(view, "train"):
        segments(state.PREFIX + "train", "Which schemes are trained", state.TRAIN)
    parts = plan(layer, weights, state.each(view))
    count = sum(len(part.rows) for part in parts)
    asked = work.start(parts, state.PAGE, f"{state.PAGE} training")
    working = asked.working

    @st.fragment(run_every=POLL if working else None)
    def look() -> None:
        found = asked.found()
        if asked.working != working or any(st.session_state[p.key] != view[p.name] for p in state.PARAMS):
            st.rerun()  # the whole page, which sets the clock and writes the link
        with st.container(key="work"):  # style.css: as high with a bar as with a button
            status(asked, found, (f"Train {plural(count, 'scheme')}", "Train the rest"))
        with st.container(key="tally"):  # style.css: room for what comes
            st.markdown(tallied(parts, found, total(layer, weights)))
        draw(by_set(parts, found) if found else {})
        st.markdown(f"### Trained, not only derived\n\n{about(layer, weights)}")
        with st.container(key="troubled"):
            troubled(found, layer)

    look()


def tallied(parts: Sequence[Twins], found: Results, all_schemes: int) -> str:
    """What came out so far, in numbers."""
    count, trained = sum(len(part.rows) for part in parts), tally(parts, found)
    if not trained.done:
        some = f"{count:,} of the {all_schemes:,} schemes, some of every set, can be trained with six twins each"
        which = some if count < all_schemes else f"Each of the {count:,} schemes can be trained with six twins"
        return f"So far the map is what the rule says. {which}."
    said = [f"{trained.agree:,} as the rule says", f"{trained.disagree:,} otherwise"]
    said += [f"{trained.unanswered:,} without an answer"] * bool(trained.unanswered)
    some = f"Six each of {count:,} schemes, some of every set; there are {all_schemes:,}."
    which = some if count < all_schemes else f"Six for each of the {count:,} schemes."
    return f"**{trained.done:,} of {trained.of:,} twins trained: {', '.join(said)}.** {which}"


def troubled(found: Results, layer: str) -> None:
    """The twins that do otherwise or leave no answer, the former first, each with the way to Table 1; all as a file."""
    out = sorted(answers(found, troubled=True), key=lambda each: each.agrees)
    for each in islice(out, SHOWN):
        st.markdown(f"{'?' if each.agrees else '✘'} {told(each, layer)}")
        way(address(each, layer), "See it in", ":material/visibility:")
    if len(out) > SHOWN:
        st.markdown(f"And {len(out) - SHOWN:,} more, which the file has.")
    if found:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Every twin, with what it did and by how much:", width="content")
            save_table(lambda: columns(found), "trained-schemes")


def address(answer: Answer, layer: str) -> str:
    """Where Table 1 has the same scheme trained in the same way, its cell open."""
    scheme, setting = answer.row.scheme, setting_of(layer, 0)
    named = {name: str(getattr(setting, name)) for name in ("layer", "delta", "shift", "steps", "batch", "seed")}
    cell = {"cell": f"{scheme.key}.{answer.transformation}"}
    return f"/invariance?{urlencode(named | cell | table_link(scheme))}"


def about(layer: str, weights: Sequence[str]) -> str:
    """What is trained, and what counts as an answer."""
    said = (
        "A twin is a copy of a network whose first weights or whose data are changed by one of the six "
        f"transformations. Both train for {STEPS} steps on the same digits, at ε = 0 and in float64; where weights are "
        "re-scaled, their learning rate is re-scaled too. If the scheme ignores the change, the twin has the outputs "
        "and losses of the original, up to rounding. If not, they differ. Copies that differ only by rounding show how "
        "far rounding alone takes two networks apart. "
        f"With these, {len(NETWORKS)} networks are trained for each scheme."
    )
    return f"{said} {ONE_CHANNEL}" if layer == "conv" and "weight-standardization" in weights else said
