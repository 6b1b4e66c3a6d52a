"""Homework checked by its numbers: inputs to download, answers to upload, and what is right or which mistake it is."""

from functools import partial

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.text import capitalize_first, typeset
from normviz.data.output import encode_npy
from normviz.describe.wording import format_shape
from normviz.topics.gradients import answers
from normviz.topics.gradients.answers import ANSWERS, INPUTS, Verdict
from normviz.topics.gradients.exercise import NAMES, Exercise, packed, taken
from normviz.topics.gradients.mistakes import MISTAKES
from normviz.topics.gradients.state import PREFIX, exercise_of
from normviz.ui.frame import show_error
from normviz.ui.link import View
from normviz.ui.saving import save_table

HELD = PREFIX + "answers"
ERROR = PREFIX + "upload error"
SHOWN_NAMES = 3
"""How many unknown names of one file are told."""

judged = st.cache_data(max_entries=64, show_spinner="Your numbers are held against the ways to get them wrong …")(
    answers.judge
)


def answer(view: View, theme: str) -> None:
    """Show the task, the upload, and the verdict on each array; nothing depends on the theme."""
    task = exercise_of(view)
    inputs = task.inputs()
    left, right = st.columns([1, 1], gap="large")
    with left:
        _given(task, inputs)
    with right:
        _sent()
        _verdicts(task, inputs)
    with st.expander("A frame to write it in"):
        st.code(task.code())
        st.markdown("The same check without a browser:")
        st.code(task.command(), language="bash")
    with st.expander(f"The {len(MISTAKES)} mistakes that it knows by their numbers"):
        st.table([{"": row.name, "What happened": row.told, "What to do": row.remedy} for row in MISTAKES.values()])


def _given(task: Exercise, inputs: dict[str, np.ndarray]) -> None:
    """The task in words and as files."""
    st.markdown(
        f"#### 1. Compute\n**out = γ x̂ + β by {task.said()}**, and, where you like, dx, dgamma and dbeta from dout; "
        f"ε = {typeset(task.eps)}. x is {NAMES[task.layout]} = {format_shape(task.shape)}, {task.dtype}."
    )
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "inputs.npz", lambda: packed(inputs), "inputs.npz", on_click="ignore", icon=":material/download:"
        )
        for name in INPUTS:
            file = f"{name}.npy"
            st.download_button(file, partial(encode_npy, inputs[name]), file, on_click="ignore", type="tertiary")
    st.caption("Another setting gives other inputs: download them anew, for answers are judged by those shown here.")


def _sent() -> None:
    """The upload, what is here, and why the last file was not taken."""
    state = st.session_state
    st.markdown("#### 2. Send the numbers back")
    st.file_uploader(
        f"answer.npz, or {', '.join(f'{name}.npy' for name in ANSWERS)}", ["npz", "npy"], key=PREFIX + "upload",
        on_change=_take, help="Arrays only: nothing that you send is run.",
    )  # fmt: skip
    held = state.get(HELD, {})
    if state.get(ERROR):
        names = [name for name, each in held.items() if isinstance(each, np.ndarray)]
        verb = "is" if len(names) == 1 else "are"
        there = f"{', '.join(names)} {verb} still judged." if names else "Nothing is judged."
        show_error(f"{capitalize_first(state[ERROR])} {there}")
    if held:
        st.button("Forget the answers", on_click=lambda: state.update({HELD: {}, ERROR: None}))


def _take() -> None:
    """Read a file into the session, beside the arrays that are there; they stay where the file cannot be read.

    An array that cannot be judged is replaced by the reason, so that the session holds nothing large.
    """
    state, file = st.session_state, st.session_state[PREFIX + "upload"]
    state[ERROR] = None
    if file is None:
        return
    try:
        arrays, problems = taken(file.name, file.getvalue())
    except InvalidInput as error:
        state[ERROR] = str(error)
        return
    unknown = [problem for name, problem in problems.items() if name not in ANSWERS]
    more = f" {len(unknown) - SHOWN_NAMES} more names are unknown." if len(unknown) > SHOWN_NAMES else ""
    state[ERROR] = " ".join(unknown[:SHOWN_NAMES]) + more or None
    known = {name: problem for name, problem in problems.items() if name in ANSWERS}
    state[HELD] = state.get(HELD, {}) | arrays | known


def _verdicts(task: Exercise, inputs: dict[str, np.ndarray]) -> None:
    """Show a line for each answer: right, and how exactly, or which mistake it is, or why it cannot be judged."""
    held = {name: st.session_state[HELD][name] for name in ANSWERS if name in st.session_state.get(HELD, {})}
    if not held:
        return
    arrays = {name: each for name, each in held.items() if isinstance(each, np.ndarray)}
    verdicts = judged(task.scheme, task.layout, inputs, arrays, task.eps) if arrays else {}
    found = {name: verdicts.get(name) or Verdict(False, None, problem=each) for name, each in held.items()}
    for name, verdict in found.items():
        show, icon = (st.success, ":material/check:") if verdict.right else (st.warning, ":material/close:")
        show(verdict_words(name, verdict), icon=icon)
    save_table(
        lambda: {
            "array": list(found),
            "right": [int(each.right) for each in found.values()],
            "error": [each.error for each in found.values()],
            "mistake": [each.mistake for each in found.values()],
            "beside": [each.beside for each in found.values()],
            "problem": [each.problem for each in found.values()],
        },
        "verdicts",
    )


def verdict_words(name: str, verdict: Verdict) -> str:
    """Return a verdict in words."""
    if verdict.problem is not None:
        return f"**{name} cannot be judged**: {verdict.problem}"
    off = "" if verdict.error is None else f", off by {typeset(verdict.error, 2)} of its largest number"
    if verdict.right:
        exactly = f"to {typeset(verdict.error, 2)} of its largest number" if verdict.error else "to the last digit"
        return f"**{name} is right**, {exactly}."
    if verdict.mistake is None:
        return f"**{name} is wrong**{off}. None of the mistakes below explains it, nor do the pairs that are tried."
    rows = [MISTAKES[key] for key in (verdict.mistake, verdict.beside) if key]
    names = " and ".join(row.name for row in rows)
    return f"**{name}: {names}**{off}. " + " ".join(f"{row.told} *{row.remedy}*" for row in rows)
