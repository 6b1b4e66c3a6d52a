"""Panels of the Table 1 page: one case with its question or its answer, and further panels behind a click."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from normviz.charts.common_charts import draw_gap_panels
from normviz.charts.palette import THEMES
from normviz.core.registry import BA_REFERENCE, Scheme
from normviz.core.text import format_number, join_words, typeset
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.describe import notation
from normviz.describe.wording import capitalize_first, format_gap
from normviz.topics.table1 import cases, grid, sweeps
from normviz.topics.table1.fade import divides_by_one_number
from normviz.topics.table1.forward import has_eps
from normviz.topics.table1.half_precision import explain_half_precision_failures
from normviz.topics.table1.pictures import render_change_picture
from normviz.topics.table1.script import format_cell_script
from normviz.topics.table1.state import CASE_PANELS, PANELS, PREFIX, RATE_EXPLANATION
from normviz.topics.table1.table import Cell
from normviz.topics.table1.training_panels import get_table_result_cache
from normviz.topics.table1.twin_plot import build_loss_plot, build_output_plot, is_visible
from normviz.train.problem import ORIGINAL, find_network_index
from normviz.train.setting import DTYPES, Setting
from normviz.ui.link import View, draw_segments
from normviz.ui.saving import draw_download_button
from normviz.web.components.plot import show_figure
from normviz.web.components.twins import show_twin_curves

GUESS_WORDS = {"yes": "Yes, the same", "no": "No, differently", "fades": "Nearly the same"}
"""Labels of the guesses; the last one only if ε > 0."""

ANSWER_SENTENCES = {
    "yes": "the losses are the same",
    "no": "the losses differ",
    "fades": "the losses are nearly the same",
    "none": "nothing can be told",
}

CHANGES_BY_DIFFICULTY = (
    "dataset-rescaling", "case-rescaling", "weight-matrix-rescaling", "weight-vector-rescaling", "dataset-recentering",
    "weight-matrix-recentering",
)  # fmt: skip
"""Keys of the changes, the easy ones first: the order of the cases."""

LEGEND = "**=** same losses · **≠** losses differ · **?** click and guess"

SCRIPT_NOTE = (
    "This case in plain PyTorch. The script prints the same verdict, unless it or the page gives no answer: the "
    "page also compares with float64, and allows for deeper layers that cancel a change."
)
"""Note on what the script shares with the page, and what it lacks."""


def find_hidden_cells(cells: Sequence[Cell], view: View) -> list[str]:
    """Return the keys of the cells whose answers are hidden, since the visitor has neither guessed nor revealed them.

    A panel that shows the answers of all cases reveals all; the script of a case reveals that case.
    """
    if view["reveal"] or view["panel"] not in CASE_PANELS:
        return []
    seen = {*get_case_guesses(), *([view["cell"]] if view["panel"] == "script" else [])}
    return [key for key in map(grid.get_cell_key, cells) if key not in seen]


def get_case_guesses() -> dict[str, str]:
    """Return this session's guesses, keys of `GUESS_WORDS`, by key of the cell, as a dict that may be changed."""
    return st.session_state.setdefault("votes", {})


def show_case(
    cell: Cell, scheme: Scheme, setting: Setting, cells: Sequence[Cell], hidden_keys: Sequence[str],
    has_matched_rate: bool,
) -> None:  # fmt: skip
    """Show the open case and how many of `cells` are guessed; `hidden_keys` are of those whose answers are hidden.

    With `has_matched_rate` the twin's learning rate is scaled with its weights.
    """
    change = TRANSFORMATIONS[cell.transformation]
    with st.container(border=True, key="case-card", gap="xsmall"):
        st.caption(_format_progress(cell, cells, hidden_keys))
        st.markdown(f"## {cases.format_case_title(scheme, change, setting)}")
        with st.container(key="change", horizontal=True, vertical_alignment="center"):
            st.html(render_change_picture(change, setting, cases.format_change_sign(change, setting)), width="content")
            squares = cases.explain_picture_squares(change, setting)
            st.markdown(f"{cases.describe_case_twin(change, setting, has_matched_rate)} :small[:gray[{squares}]]")


def show_case_question(cell: Cell, scheme: Scheme, setting: Setting) -> None:
    """Show the question of the open cell with buttons for the possible guesses and a hint, without the answer."""
    st.markdown("### Do both have the same loss at every step?")
    with st.container(horizontal=True, key="guess"):
        for vote, text in GUESS_WORDS.items():
            if vote != "fades" or setting.eps:
                on = partial(get_case_guesses().__setitem__, grid.get_cell_key(cell), vote)
                st.button(f"{grid.ANSWER_SIGNS[vote]} {text}", f"vote {vote}", on_click=on)
    with st.expander("Hint"):
        st.markdown(cases.format_hint(scheme, TRANSFORMATIONS[cell.transformation], setting))


def show_case_answer(
    cell: Cell,
    scheme: Scheme,
    setting: Setting,
    cells: Sequence[Cell],
    hidden_keys: Sequence[str],
    view: View,
    theme: str,
) -> None:
    """Show the answer of the open cell: curves, whether the guess was right, the reason, and the three checks."""
    change = TRANSFORMATIONS[cell.transformation]
    networks = [ORIGINAL, find_network_index(change, view["follow"])]
    losses = get_table_result_cache().get_losses(scheme, setting)[:, networks]
    shown, note = choose_plot_data(cell, scheme, change, setting, losses)
    with st.container(key="answer", horizontal=True):
        with st.container(key="shown"):
            show_twin_curves(build_twin_curves(cell, shown, theme), "curves")
        with st.container(key="told", gap="small"):
            heading = format_answer_heading(get_case_guesses().get(grid.get_cell_key(cell)), cell)
            why = format_case_reason(cell, scheme, setting)
            st.markdown(f"### {heading}\n{why}\n\n{note} {describe_final_losses(cell, losses, setting)}")
            with st.container(horizontal=True, gap="small", key="following"):
                if following := find_next_case(view["cell"], cells, hidden_keys):
                    on = partial(open_case, following)
                    st.button("Next case", icon=":material/arrow_forward:", type="primary", on_click=on)
                st.button("PyTorch script", on_click=partial(_store_value, "panel", "script"))
    for warning in _list_notes(cell, scheme, setting):
        st.warning(warning, icon=":material/warning:")
    with st.expander("Checked in three ways"):
        _show_checks(cell, scheme, change, setting)


def build_twin_curves(cell: Cell, plot_data: dict[str, Any], theme: str) -> dict[str, Any]:
    """Return what `show_twin_curves` draws of a network and its transformed twin: `plot_data`, alt text, colours."""
    gap = format_gap(grid.select_training_gap(cell))
    curves = [plot_data["first"], plot_data["second"]]
    has_ends = plot_data["plays"] and all(map(len, curves))
    ends = f" at the end {' and '.join(format_number(each[-1]) for each in curves)};" if has_ends else ""
    alt = f"{capitalize_first(plot_data['y'])} of network and twin;{ends} largest gap of the losses {gap}."
    colours = [THEMES[theme].original, THEMES[theme].transformed]
    return {"alt": alt, "names": ["network", "twin"], "colours": colours, **plot_data}


def format_case_reason(cell: Cell, scheme: Scheme, setting: Setting) -> str:
    """Return the answer of a cell in words, with its reason."""
    change = TRANSFORMATIONS[cell.transformation]
    return (
        f"{cases.describe_case_answer(cell, scheme, change)} {cases.explain_case_answer(cell, scheme, change, setting)}"
    )


def open_case(key: str) -> None:
    """Open the cell with this key, and close the script, which would reveal its answer."""
    _store_value("cell", key)
    if st.session_state[PREFIX + "panel"] == "script":
        _store_value("panel", "changed")


def find_next_case(key: str, cells: Sequence[Cell], hidden_keys: Sequence[str]) -> str | None:
    """Return the key of the next cell with a hidden answer, easy transformations first; None if all are shown."""
    places = {change: place for place, change in enumerate(CHANGES_BY_DIFFICULTY)}
    order = [grid.get_cell_key(cell) for cell in sorted(cells, key=lambda cell: places[cell.transformation])]
    at = order.index(key)
    return next((each for each in (*order[at + 1 :], *order[:at]) if each in hidden_keys), None)


def show_table_heading(hidden_keys: Sequence[str]) -> None:
    """Show the heading of the table, with a button that reveals all answers or hides them again."""
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.markdown("### Table 1 of Ba et al. 2016", width="content")
        if hidden_keys:
            st.button("Reveal all", type="tertiary", on_click=partial(_store_value, "reveal", True))
        else:
            st.button("Hide answers", on_click=_restart_quiz)


def choose_case_panel(hidden_keys: Sequence[str]) -> str:
    """Draw the buttons of the panel below the open cell, with a warning while answers are hidden; return a key."""
    with st.container(key="more", horizontal=True, vertical_alignment="center"):
        st.markdown("**More**" + (" (shows the answers)" if hidden_keys else ""), width="content")
        panel = str(st.session_state[PREFIX + "panel"])
        draw_segments(PREFIX + "panel", "More", PANELS, [key for key in PANELS if key != "script" or key == panel])
    return panel


def show_case_script(cell: Cell, scheme: Scheme, setting: Setting, has_matched_rate: bool) -> None:
    """Show, with a download, a PyTorch script that repeats the open cell; its twin's learning rate may be matched."""
    script = format_cell_script(scheme, TRANSFORMATIONS[cell.transformation], setting, has_matched_rate)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(SCRIPT_NOTE, width="stretch")
        st.download_button("Download", script, f"{grid.get_cell_key(cell)}.py", "text/x-python", on_click="ignore")
    st.code(script, "python", height=480)


def show_case_results(cells: Sequence[Cell]) -> None:
    """Show a table of the gaps and verdicts of all cells, by theory, forward pass and training, with a download."""
    st.caption(
        "Gaps between network and twin, relative: of their outputs x̂, and the largest of their losses. About 10⁻¹⁶ is "
        "rounding in float64, 10⁻⁷ in float32."
    )
    columns = tabulate_cells(cells)
    words = {True: "invariant", False: "not invariant", None: "–"}
    shown = {
        name: [format_gap(each) if isinstance(each, float) else words.get(each, each) for each in column]
        for name, column in columns.items()
    }
    st.table({capitalize_first(name.replace("_", " ")): column for name, column in shown.items()}, border="horizontal")
    draw_download_button(lambda: columns, "table-1")


def tabulate_cells(cells: Sequence[Cell]) -> dict[str, list]:
    """Return the results of the cells as columns by name, with an element for each cell."""
    names = ("scheme", "transformation", "predicted", "forward_gap", "training_gap", "training_gap_equal_lr", "paper")
    return {name: [getattr(cell, name) for cell in cells] for name in names}


def show_eps_sweep(schemes: Sequence[Scheme], setting: Setting, trained: bool, theme: str) -> None:
    """Show the gap over ε for all transformations, a curve for each scheme: of losses if `trained`, else of outputs."""
    settings = sweeps.build_eps_settings(setting)
    over = sweeps.collect_training_gaps if trained else sweeps.collect_forward_gaps
    found = over(schemes, settings, get_table_result_cache())
    names = [capitalize_first(change.name) for change in TRANSFORMATIONS.values()]
    panels = {
        name: {scheme.label: found[:, row, column] for row, scheme in enumerate(schemes)}
        for column, name in enumerate(names)
    }
    alt = f"{'Training' if trained else 'Forward'} gap over ε, for six transformations, a curve a scheme."
    figure = draw_gap_panels(sweeps.EPSILONS, panels, "ε", setting.eps or None, theme)
    show_figure(figure, "sweep", alt, "34rem")
    without = [scheme.label for scheme in schemes if not has_eps(scheme)]
    note = f" ε does nothing to {join_words(without, 'and')}." if without else ""
    if any(divides_by_one_number(scheme.weight_part) for scheme in schemes if scheme.weight_part and scheme.weight):
        note += " Behind spectral norm, a shift of the weights fades too."
    unchanged = f"{grid.UNCHANGED_TEXT}, so re-scalings have no gap here. " if setting.delta == 1.0 else ""
    st.caption(
        f"{unchanged}ε is added to the mean square under the root, and a factor does not multiply it. So a scheme that "
        "is invariant to a factor at ε = 0 loses this little by little as ε grows. The gap compares the largest "
        "outputs; it can fall again where other outputs become the largest. A shift that the mean cancels stays "
        f"cancelled at every ε. A scheme without a mean, such as RMS norm, cancels no shift at any ε.{note}"
    )


def show_delta_sweep(scheme: Scheme, setting: Setting, theme: str) -> None:
    """Show the gap of one scheme over δ for the re-scalings, a curve for each precision."""
    found = sweeps.collect_forward_gaps([scheme], sweeps.build_delta_settings(setting), get_table_result_cache())
    found = found.reshape(len(DTYPES), len(sweeps.DELTAS), -1)
    panels = {
        capitalize_first(change.name): {dtype: found[row, :, column] for row, dtype in enumerate(DTYPES)}
        for column, change in enumerate(TRANSFORMATIONS.values())
        if change.factor is not None
    }
    alt = f"Gap of the forward pass of {scheme.name} over δ, a curve a precision."
    show_figure(draw_gap_panels(sweeps.DELTAS, panels, "δ", setting.delta, theme), "sweep", alt, "34rem")
    st.caption(
        f"{capitalize_first(scheme.name)}, forward pass. What holds exactly on paper holds to rounding: float64 keeps "
        "53 bits, float32 24, float16 11 and bfloat16 8. A δ that is a power of two re-scales without rounding; δ = 1 "
        "changes nothing, and has no gap. float16 ends at 65,504."
    )


def _store_value(name: str, value: Any) -> None:
    st.session_state[PREFIX + name] = value


def _restart_quiz() -> None:
    st.session_state["votes"] = {}
    _store_value("reveal", False)
    _store_value("panel", "changed")


def _format_progress(cell: Cell, cells: Sequence[Cell], hidden_keys: Sequence[str]) -> str:
    """Return the number of the guess and the score, "Guess 3 of 24 · 2 of 2 right", or how to open a case."""
    answers = {grid.get_cell_key(each): grid.classify_case_answer(each) for each in cells}
    guessed = {key: vote for key, vote in get_case_guesses().items() if key in answers}
    place = [*guessed, grid.get_cell_key(cell)].index(grid.get_cell_key(cell)) + 1
    which = (
        f"Guess {place} of {len(cells)}"
        if grid.get_cell_key(cell) in {*guessed, *hidden_keys}
        else "Click a cell of the table for its case."
    )
    counted = [vote == answers[key] for key, vote in guessed.items() if answers[key] != "none"]
    score = f" · {sum(counted)} of {len(counted)} right" if counted else ""
    return f"{which}{score}"


def format_answer_heading(vote: str | None, cell: Cell) -> str:
    """Return a heading with the answer, and whether the guess `vote` was right: "= Right: the losses are the same"."""
    answer = grid.classify_case_answer(cell)
    if vote is None or answer == "none":
        return f"{grid.ANSWER_SIGNS[answer]} {capitalize_first(ANSWER_SENTENCES[answer])}"
    return f"{grid.ANSWER_SIGNS[answer]} {'Right' if vote == answer else 'Not quite'}: {ANSWER_SENTENCES[answer]}"


def choose_plot_data(
    cell: Cell, scheme: Scheme, change: Transformation, setting: Setting, losses: np.ndarray
) -> tuple[dict[str, Any], str]:
    """Return the data of a cell's plot, losses or else outputs, with a note if the losses do not differ visibly."""
    shown = build_loss_plot(losses, setting)
    if len(losses) < setting.steps or grid.classify_case_answer(cell) not in ("no", "fades") or is_visible(shown):
        return shown, ""
    outputs = build_output_plot(scheme, change, setting)
    if outputs is not None and is_visible(outputs):
        note = "The losses are too close to see a difference, so the plot shows outputs of the first layer: of the "
        return outputs, f"{note}image where they differ most."
    return shown, "The difference is too small to see here."


def describe_final_losses(cell: Cell, losses: np.ndarray, setting: Setting) -> str:
    """Return a sentence on the last losses of the network and its transformed twin, from `losses` (steps so far, 2)."""
    if len(losses) < setting.steps:
        return f"Step {len(losses)} of {setting.steps}."
    if not np.isfinite(losses[-1]).all():
        return "The losses did not stay finite."
    network, twin = (typeset(loss, 3) for loss in losses[-1])
    if cell.trained and network == twin:
        return f"Both end at a loss of {network}."
    return f"Final loss: {network} (network), {twin} (twin)."


def _show_checks(cell: Cell, scheme: Scheme, change: Transformation, setting: Setting) -> None:
    st.markdown(
        f"**{_choose_answer_sign(None if cell.unchanged else cell.predicted)} Theory.** "
        f"{cell.degenerate or cell.reason}"
    )
    outputs = _describe_gap("outputs x̂", cell.forward_gap, cell.forward, cell.forward_unanswered)
    st.markdown(
        f"**{_choose_answer_sign(cell.forward)} One forward pass.** {outputs}", help=_format_exact_gap(cell.forward_gap)
    )
    gap = grid.select_training_gap(cell)
    losses = _describe_gap("losses", gap, cell.trained, cell.unanswered)
    st.markdown(f"**{_choose_answer_sign(cell.trained)} Training.** {losses}", help=_format_exact_gap(gap))
    if cell.paper is not None:
        st.markdown(
            f"**{_choose_answer_sign(cell.paper)} The paper.** [Table 1]({BA_REFERENCE.url}) of {BA_REFERENCE.text}."
        )
    if change.weight_factor is not None:
        equal = f"At equal learning rates the losses differ by up to {format_gap(cell.training_gap_equal_lr) or '…'}. "
        st.caption(equal + RATE_EXPLANATION)
    st.latex(notation.CHANGE_FORMULAS[change.key])
    if scheme.weight_part is None or change.on == "data":
        st.latex(rf"\Rightarrow\quad {notation.format_preactivation_change(change, setting.layer)}")
    for line in notation.build_main_formulas(scheme):
        st.latex(line.latex)


def _choose_answer_sign(together: bool | None) -> str:
    return grid.ANSWER_SIGNS["none" if together is None else "yes" if together else "no"]


def _describe_gap(quantity: str, gap: float, is_equal: bool | None, why: str | None) -> str:
    """Return in a sentence whether outputs or losses are equal, or differ by `gap`; `why` if `is_equal` is None."""
    if is_equal:
        return f"The {quantity} are equal up to rounding."
    return f"The {quantity} differ by up to {format_gap(gap)} of the largest." if is_equal is False else why or ""


def _format_exact_gap(gap: float) -> str | None:
    return f"Largest difference: {format_gap(gap)} of the largest" if format_gap(gap) else None


def _list_notes(cell: Cell, scheme: Scheme, setting: Setting) -> list[str]:
    untold = (cell.forward_unanswered, None if cell.pending else cell.unanswered)
    notes = [] if cell.unchanged else [why for why in dict.fromkeys(untold) if why]
    change, known = TRANSFORMATIONS[cell.transformation], get_table_result_cache()
    named = {"The network": ORIGINAL, "The twin": find_network_index(change)}
    for name, place in named.items():
        failure = known.get_failure(scheme, setting, place)
        if failure is not None:
            notes.append(
                f"{name} stopped being finite at step {failure.step}: {failure.tensor} overflowed {setting.dtype}. "
                f"A smaller learning rate than {typeset(setting.rate)} would do."
            )
    return notes + explain_half_precision_failures(scheme, change, setting)
