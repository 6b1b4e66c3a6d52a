"""The panel "Check your own": inputs to download, answers to upload, and the verdict on each array."""

from functools import partial

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.text import capitalize_first, typeset
from normviz.data.output import encode_npy
from normviz.describe.wording import format_shape
from normviz.topics.gradients import answers
from normviz.topics.gradients.answers import ANSWER_NAMES, INPUT_NAMES, AnswerVerdict
from normviz.topics.gradients.exercise import LAYOUT_NAMES, Exercise, pack_npz, read_answers
from normviz.topics.gradients.mistakes import MISTAKES
from normviz.topics.gradients.state import PREFIX, build_exercise
from normviz.ui.frame import show_error
from normviz.ui.link import View
from normviz.ui.saving import draw_download_button

ANSWERS_KEY = PREFIX + "answers"
ERROR_KEY = PREFIX + "upload error"
MAX_SHOWN_NAMES = 3
"""Largest number of unknown names of one file in a message."""

cached_judgement = st.cache_data(
    max_entries=64, show_spinner="Your numbers are held against the ways to get them wrong …"
)(answers.judge_answer)


def show_answer_check(view: View, theme: str) -> None:
    """Show the homework task with its files, the upload of answers, and the verdict on each array."""
    task = build_exercise(view)
    inputs = task.make_inputs()
    left, right = st.columns([1, 1], gap="large")
    with left:
        _show_task(task, inputs)
    with right:
        _show_upload()
        _show_verdicts(task, inputs)
    with st.expander("A frame to write it in"):
        st.code(task.format_template())
        st.markdown("The same check without a browser:")
        st.code(task.format_command(), language="bash")
    with st.expander(f"The {len(MISTAKES)} mistakes that it knows by their numbers"):
        st.table(
            [{"": row.name, "What happened": row.description, "What to do": row.remedy} for row in MISTAKES.values()]
        )


def _show_task(task: Exercise, inputs: dict[str, np.ndarray]) -> None:
    st.markdown(
        f"#### 1. Compute\n**out = γ x̂ + β by {task.describe()}**, and, where you like, dx, dgamma and dbeta "
        f"from dout; ε = {typeset(task.eps)}. x is {LAYOUT_NAMES[task.layout]} = {format_shape(task.shape)}, "
        f"{task.dtype}."
    )
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "inputs.npz", lambda: pack_npz(inputs), "inputs.npz", on_click="ignore", icon=":material/download:"
        )
        for name in INPUT_NAMES:
            file = f"{name}.npy"
            st.download_button(file, partial(encode_npy, inputs[name]), file, on_click="ignore", type="tertiary")
    st.caption("Another setting gives other inputs: download them anew, for answers are judged by those shown here.")


def _show_upload() -> None:
    """Show the upload, the names of arrays received, and the error if the last file was rejected."""
    state = st.session_state
    st.markdown("#### 2. Send the numbers back")
    st.file_uploader(
        f"answer.npz, or {', '.join(f'{name}.npy' for name in ANSWER_NAMES)}", ["npz", "npy"], key=PREFIX + "upload",
        on_change=_read_upload, help="Arrays only: nothing that you send is run.",
    )  # fmt: skip
    held = state.get(ANSWERS_KEY, {})
    if state.get(ERROR_KEY):
        names = [name for name, each in held.items() if isinstance(each, np.ndarray)]
        verb = "is" if len(names) == 1 else "are"
        there = f"{', '.join(names)} {verb} still judged." if names else "Nothing is judged."
        show_error(f"{capitalize_first(state[ERROR_KEY])} {there}")
    if held:
        st.button("Forget the answers", on_click=lambda: state.update({ANSWERS_KEY: {}, ERROR_KEY: None}))


def _read_upload() -> None:
    """Add the arrays of the uploaded file to those in the session; an invalid file only sets the error.

    An array that cannot be judged is replaced by the reason, so that the session holds nothing large.
    """
    state, file = st.session_state, st.session_state[PREFIX + "upload"]
    state[ERROR_KEY] = None
    if file is None:
        return
    try:
        arrays, problems = read_answers(file.name, file.getvalue())
    except InvalidInput as error:
        state[ERROR_KEY] = str(error)
        return
    unknown = [problem for name, problem in problems.items() if name not in ANSWER_NAMES]
    more = f" {len(unknown) - MAX_SHOWN_NAMES} more names are unknown." if len(unknown) > MAX_SHOWN_NAMES else ""
    state[ERROR_KEY] = " ".join(unknown[:MAX_SHOWN_NAMES]) + more or None
    known = {name: problem for name, problem in problems.items() if name in ANSWER_NAMES}
    state[ANSWERS_KEY] = state.get(ANSWERS_KEY, {}) | arrays | known


def _show_verdicts(task: Exercise, inputs: dict[str, np.ndarray]) -> None:
    """Show for each received array whether it is right, its mistake, or why it cannot be judged."""
    held = {
        name: st.session_state[ANSWERS_KEY][name]
        for name in ANSWER_NAMES
        if name in st.session_state.get(ANSWERS_KEY, {})
    }
    if not held:
        return
    arrays = {name: each for name, each in held.items() if isinstance(each, np.ndarray)}
    verdicts = cached_judgement(task.scheme, task.layout, inputs, arrays, task.eps) if arrays else {}
    found = {name: verdicts.get(name) or AnswerVerdict(False, None, problem=each) for name, each in held.items()}
    for name, verdict in found.items():
        show, icon = (st.success, ":material/check:") if verdict.right else (st.warning, ":material/close:")
        show(describe_verdict(name, verdict), icon=icon)
    draw_download_button(
        lambda: {
            "array": list(found),
            "right": [int(each.right) for each in found.values()],
            **{name: [getattr(each, name) for each in found.values()] for name in AnswerVerdict._fields[1:]},
        },
        "verdicts",
    )


def describe_verdict(name: str, verdict: AnswerVerdict) -> str:
    """Return one line of Markdown on an array: right with its error, wrong, or why it cannot be judged."""
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
    return f"**{name}: {names}**{off}. " + " ".join(f"{row.description} *{row.remedy}*" for row in rows)
