"""What the Table 1 page shows beside the grid: an open cell, gaps over ε and δ, and the game of predicting."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import streamlit as st

from normviz.core.schemes import BA, Scheme
from normviz.core.text import spoken, typeset
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.describe import notation
from normviz.describe.wording import gap_text, sentence
from normviz.networks.problem import NETWORKS, ORIGINAL, before_and_after, position
from normviz.networks.setting import DTYPES, Setting
from normviz.table1 import sweeps
from normviz.table1.figures import Twin, training_curves
from normviz.table1.forward import has_eps
from normviz.table1.grid import ANSWERS, UNCHANGED, WORDS, key_of, word_of
from normviz.table1.half import broken
from normviz.table1.script import cell_script
from normviz.table1.state import ONE_CELL, PANELS, PREFIX, WHY_RATE
from normviz.table1.table import Cell, loss_gaps
from normviz.table1.training_panels import results
from normviz.ui.components.plot import plot
from normviz.ui.figures import before_after, gap_panels
from normviz.ui.link import segments

Votes = dict[str, str | None]
"""By cell: what the class said, a key of `WORDS`, or None where it was revealed without a vote."""


NUMBERS = (
    "In a cell, from above: what the rule predicts, what a forward pass and training say. Numbers are gaps between the "
    "original and the transformed network, relative: of their outputs x̂, and the largest of their losses; about 10⁻¹⁶ "
    "is rounding in float64, 10⁻⁷ in float32. The paper writes γ for the shift τ."
)
"""How to read the grid, beside its own legend."""

SCRIPT = (
    "This very cell in plain PyTorch. The script prints the same verdict, unless it or the page gives no answer: the "
    "page also compares with float64, and allows for deeper layers that cancel a change."
)
"""What the script has in common with the page, and what it lacks."""


def numbers(cells: Sequence[Cell]) -> dict[str, list]:
    """What is in the grid, and the gap at equal learning rate, as columns: a row a cell."""
    names = ("scheme", "transformation", "predicted", "forward_gap", "training_gap", "training_gap_equal_lr", "paper")
    return {name: [getattr(cell, name) for cell in cells] for name in names}


def cell_panel(cell: Cell, scheme: Scheme, setting: Setting, theme: str) -> None:
    """The open cell: what was changed, the reason, the curves, and the formulas."""
    change = TRANSFORMATIONS[cell.transformation]
    st.markdown(f"## {sentence(scheme.name)}: {change.name}\n**{_said(cell)}.** {_reason(cell)}")
    question(change, scheme, setting)
    _curves(cell, scheme, change, setting, theme)
    _answers(cell, change, setting)
    for note in _notes(cell, scheme, setting):
        st.warning(note, icon=":material/warning:")
    for line in notation.essentials(scheme):
        st.latex(line.latex)


def script_panel(cell: Cell, scheme: Scheme, setting: Setting, follow: bool) -> None:
    """The cell as a script of its own."""
    script = cell_script(scheme, TRANSFORMATIONS[cell.transformation], setting, follow)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(SCRIPT, width="stretch")
        st.download_button("Download", script, f"{key_of(cell)}.py", "text/x-python", on_click="ignore")
    st.code(script, "python", height=480)


def choose_panel(cover: bool) -> str:
    """What is shown below the open cell."""
    options = ONE_CELL if cover else list(PANELS)
    state, key = st.session_state, PREFIX + "panel"
    if state[key] not in options:
        state[key] = options[0]
    segments(key, "Below", PANELS, options)
    return str(state[key])


def question(change: Transformation, scheme: Scheme, setting: Setting) -> None:
    """What is changed, and what that does to the summed inputs; not where changed weights are normalized first."""
    st.latex(notation.CHANGES[change.key])
    if scheme.on_weights is None or change.on == "data":
        st.latex(rf"\Rightarrow\quad {notation.on_sums(change, setting.layer)}")


def changed_picture(cell: Cell, setting: Setting, theme: str) -> None:
    """The weights, or digits, before and after."""
    change = TRANSFORMATIONS[cell.transformation]
    before, after = before_and_after(setting, change)
    what = "weights (a column is a unit)" if change.on == "weights" else "digits of a mini-batch"
    alt = f"The {what} before and after: {change.plain}."
    plot(before_after(before, after, ("before", f"after: {change.plain}"), theme), "changed", alt, "20rem")
    st.caption(f"{sentence(what)}; δ = {typeset(setting.delta)}, seed {setting.seed}.")


def vote_panel(cell: Cell, scheme: Scheme, setting: Setting) -> None:
    """A covered cell: the question, what is changed, and what the class says."""
    change = TRANSFORMATIONS[cell.transformation]
    st.markdown(f"## Is {scheme.name} invariant to {change.name}?")
    question(change, scheme, setting)
    with st.container(horizontal=True):
        for vote in ("yes", "no", *(["fades"] if setting.eps else []), None):
            text, kind = _vote_button(vote)
            st.button(text, key=f"vote {text}", type=kind, on_click=partial(_vote, key_of(cell), vote))


def votes() -> Votes:
    """What the class has said so far, in this session."""
    return st.session_state.setdefault("votes", {})


def entrance(cells: Sequence[Cell], cover: bool) -> None:
    """The way in: to predict before one looks; and once that is done, how many votes were right."""
    with st.container(key="entrance", horizontal=True, vertical_alignment="center"):
        if cover:
            _score(cells)
        else:
            st.markdown(f"**Would you have known?** {len(cells)} cells: which are invariant?", width="content")
            st.button("Predict first", icon=":material/quiz:", type="primary", on_click=_cover, args=(True,))


def _score(cells: Sequence[Cell]) -> None:
    """How many votes were right, and buttons to reveal or cover all."""
    said = {key_of(cell): (votes()[key_of(cell)], truth(cell)) for cell in cells if key_of(cell) in votes()}
    voted = [vote == true for vote, true in said.values() if vote is not None and true is not None]
    left = len(cells) - len(said)
    st.markdown(f"**{sum(voted)} of {len(voted)} predicted right**, {left} still covered", width="content")
    everything = {key_of(cell): None for cell in cells}
    st.button("Reveal all", on_click=lambda: st.session_state.update(votes=everything | votes()))
    st.button("Cover all again", on_click=lambda: st.session_state.update(votes={}))
    st.button("Stop predicting", on_click=_cover, args=(False,))


def _cover(on: bool) -> None:
    st.session_state[PREFIX + "cover"] = on


def truth(cell: Cell) -> str | None:
    """What a vote is held against, a key of `WORDS`; None where the question says nothing."""
    if cell.degenerate or cell.unchanged:
        return None
    return "fades" if cell.fades else ANSWERS[cell.predicted]


def verdict_on(vote: str | None, cell: Cell, covered: Sequence[str]) -> None:
    """Whether the class was right on the open cell, and the way to the next of those that are still covered."""
    if vote is not None:
        said = WORDS[vote]
        if truth(cell) is None:
            st.info(f"The class said: {said}. {_said(cell)}: the vote does not count.", icon=":material/info:")
        elif vote == truth(cell):
            st.success(f"The class said: {said}. Right.", icon=":material/check:")
        else:
            st.error(f"The class said: {said}. It is {word_of(cell)}.", icon=":material/close:")
    if covered:
        st.button("Next cell", icon=":material/arrow_forward:", on_click=_open, args=(covered[0],))


def _open(key: str) -> None:
    st.session_state[PREFIX + "cell"] = key


def over_eps(schemes: Sequence[Scheme], setting: Setting, trained: bool, theme: str) -> None:
    """ε against the gap, for all six transformations, one curve a scheme."""
    settings = sweeps.over_eps(setting)
    over = sweeps.training_over if trained else sweeps.forward_over
    found = over(schemes, settings, results())
    names = [sentence(change.name) for change in TRANSFORMATIONS.values()]
    panels = {
        name: {scheme.label: found[:, row, column] for row, scheme in enumerate(schemes)}
        for column, name in enumerate(names)
    }
    alt = f"{'Training' if trained else 'Forward'} gap over ε, for six transformations, a curve a scheme."
    figure = gap_panels(sweeps.EPSILONS, panels, "ε", setting.eps or None, theme)
    plot(figure, "sweep", alt, "34rem")
    fronts = [scheme.on_weights for scheme in schemes if scheme.weight is not None]
    without = [scheme.label for scheme in schemes if not has_eps(scheme)]
    idle = f" ε does nothing to {spoken(without, 'and')}." if without else ""
    spectral = " Behind spectral norm a shift of the weights also changes the number that divides them all, and ε lets "
    spectral = f"{spectral}some of that through." if any(front and front.spectral for front in fronts) else ""
    unchanged = f"{UNCHANGED}, so re-scalings have no gap here. " if setting.delta == 1.0 else ""
    st.caption(
        f"{unchanged}ε stands under the root beside the mean square, and a re-scaling does not re-scale it. Of a "
        "re-scaling that is absorbed at ε = 0, more comes through to every output the larger ε is; the gap, that of "
        "the largest outputs, may fall again where others become the largest. A shift that is taken off with the mean "
        "is gone before ε is added, and stays exact; where nothing is centred, as in RMS, it comes through at every "
        f"ε.{idle}{spectral}"
    )


def over_delta(scheme: Scheme, setting: Setting, theme: str) -> None:
    """δ against the gap of one scheme, a curve a precision, for the transformations that have a factor."""
    found = sweeps.forward_over([scheme], sweeps.over_delta(setting), results())
    found = found.reshape(len(DTYPES), len(sweeps.DELTAS), -1)
    panels = {
        sentence(change.name): {dtype: found[row, :, column] for row, dtype in enumerate(DTYPES)}
        for column, change in enumerate(TRANSFORMATIONS.values())
        if change.factor is not None
    }
    alt = f"Gap of the forward pass of {scheme.name} over δ, a curve a precision."
    plot(gap_panels(sweeps.DELTAS, panels, "δ", setting.delta, theme), "sweep", alt, "34rem")
    st.caption(
        f"{sentence(scheme.name)}, forward pass. What holds exactly on paper holds to rounding: float64 keeps 53 bits, "
        "float32 24, float16 11 and bfloat16 8. A δ that is a power of two re-scales without rounding; δ = 1 changes "
        "nothing, and has no gap. float16 ends at 65,504."
    )


def _vote(key: str, vote: str | None) -> None:
    votes()[key] = vote


def _vote_button(vote: str | None) -> tuple[str, Literal["primary", "secondary"]]:
    """The text of a vote's button, and how it stands out."""
    return ("Reveal", "secondary") if vote is None else (sentence(WORDS[vote]), "primary")


def _reason(cell: Cell) -> str:
    return cell.degenerate or ("So nothing can be told." if cell.unchanged else cell.reason)


def _said(cell: Cell) -> str:
    """The cell's word as it begins a sentence; δ stays small."""
    return word_of(cell) if cell.unchanged else sentence(word_of(cell))


def _answers(cell: Cell, change: Transformation, setting: Setting) -> None:
    """The gaps, in words beside what they were measured on."""
    rows = [("Forward: outputs x̂", cell.forward_gap)]
    if change.weight_factor is None:
        rows.append(("Training: losses", cell.training_gap))
    else:
        factor = change.rate_factor(setting.optimizer, setting.delta)
        rows.append((f"Training, learning rate × {typeset(factor)}", cell.training_gap))
        rows.append(("Training, equal learning rate", cell.training_gap_equal_lr))
    st.table(
        {"Measured": [name for name, _ in rows], "Gap": [gap_text(gap) or "…" for _, gap in rows]}, border="horizontal"
    )
    if change.weight_factor is not None:
        st.caption(WHY_RATE)
    if cell.paper is not None:
        st.caption(f"{BA.text}, Table 1: {WORDS['yes' if cell.paper else 'no']}.")


def _curves(cell: Cell, scheme: Scheme, change: Transformation, setting: Setting, theme: str) -> None:
    losses = results().losses(scheme, setting)
    found = loss_gaps(losses)
    twins = [Twin("original", losses[:, ORIGINAL], None)]
    places = dict.fromkeys((position(change), position(change, follows=False)))
    for place in places:
        rate = (
            ""
            if len(places) == 1
            else ", its learning rate too"
            if NETWORKS[place].follows
            else ", equal learning rate"
        )
        twins.append(Twin(f"transformed{rate}", losses[:, place], found[:, place]))
    largest = gap_text(found[:, position(change)].max(initial=0.0))
    alt = f"Losses of the original and the transformed network over {len(losses)} steps; largest gap {largest}."
    plot(training_curves(twins, cell.rounding, theme), "curves", alt, "24rem")


def _notes(cell: Cell, scheme: Scheme, setting: Setting) -> list[str]:
    """Why there is no answer, where a network stopped being finite, and what a short type breaks."""
    untold = (cell.forward_unanswered, None if cell.pending else cell.unanswered)
    notes = [] if cell.unchanged else [why for why in dict.fromkeys(untold) if why]
    change, known = TRANSFORMATIONS[cell.transformation], results()
    named = {"The original": ORIGINAL, "The transformed network": position(change)}
    for name, place in named.items():
        failure = known.failure(scheme, setting, place)
        if failure is not None:
            notes.append(
                f"{name} stopped being finite at step {failure.step}: {failure.tensor} overflowed {setting.dtype}. "
                f"A smaller learning rate than {typeset(setting.rate)} would do."
            )
    return notes + broken(scheme, change, setting)
