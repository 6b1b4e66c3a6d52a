"""The panel "What goes wrong": networks train in the background, and their accuracies are compared."""

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.text import typeset
from normviz.data.digits import DIGIT_CLASSES
from normviz.describe.seeds import format_mean_percent
from normviz.jobs.bounded_store import BoundedStore
from normviz.jobs.executors import count_short_jobs, create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import compute_digest
from normviz.topics.running import cases
from normviz.topics.running.averages import CONVENTIONS, Convention
from normviz.topics.running.figures import ModeRow, draw_accuracies
from normviz.topics.running.network import (
    NETWORK_COUNT,
    STEPS,
    WIDTHS,
    NetworkTraining,
    TrainedNetworks,
    load_input_rows,
)
from normviz.topics.running.state import PAGE, PREFIX
from normviz.ui import runs
from normviz.ui.link import View
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

CASES_NEEDING_OTHERS = ("stale", "batches")
"""Cases without a meaning at batch size 1: x̂ is 0 there, so the weights before it never move."""

SHOWN_CASES = {"eval": ("running", "batches", "class"), "momentum": ("running", "mixed")}
"""Cases in the chart for each group of mistakes; all of them for another group."""

REQUEST_KEY = PREFIX + "training"
"""The key of the run in the session's state."""


@st.cache_resource
def get_network_store() -> BoundedStore[str, TrainedNetworks]:
    """Return the store of trained networks by digest of their job, shared by all sessions."""
    return BoundedStore(40)  # two megabytes each


@st.cache_resource
def get_training_queue() -> JobQueue:
    """Return the job queue for trainings, shared by all sessions."""
    workers = count_short_jobs()
    return JobQueue(create_thread_pool(workers), workers=workers, speed_estimator=runs.get_speed_estimator())


def store_networks(job: NetworkTraining, networks: TrainedNetworks) -> None:
    """Store the networks for all sessions if their training is complete."""
    if len(networks.means) == STEPS:
        get_network_store().put(compute_digest(job), networks)


def find_networks(job: NetworkTraining) -> TrainedNetworks | None:
    """Return the stored networks of a training, or None if it is not complete."""
    return get_network_store().get(compute_digest(job))


SOURCE = runs.RunSource(
    lambda job: [job] if find_networks(job) is None else [],
    lambda jobs: get_training_queue(),
    lambda job, networks: store_networks(job, networks),
)


@st.cache_data(max_entries=64, show_spinner=False)
def get_case_accuracies(
    training: NetworkTraining, framework: str, share: float, _trained: TrainedNetworks
) -> dict[str, np.ndarray]:
    """Return `measure_case_accuracies` of the networks `_trained`, cached for all sessions by the other arguments."""
    return cases.measure_case_accuracies(_trained, training, CONVENTIONS[framework], share)


def show(view: View, theme: str) -> None:
    """Show how much accuracy each mistake with running averages costs."""
    convention = CONVENTIONS[view["framework"]]
    if view["batch"] == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train this network, which is dense, on one digit at a time.")
    job = NetworkTraining(view["batch"], view["eps"], view["seed"])
    run = runs.open_run(SOURCE, job, PAGE, REQUEST_KEY)
    working = runs.are_running_after_wait(run)
    with st.container(key="work"):
        show_training_status(run, working)
    found = find_networks(job)
    measured = {} if found is None else get_case_accuracies(job, view["framework"], view["share"], found)
    for line in format_costliest_mistakes(measured, view, convention):
        st.markdown(line)
    rows = build_case_rows(measured, view, convention)
    drawn = draw_case_rows(rows, theme)
    show_figure(drawn.figure, "effect", drawn.alt, drawn.height)
    with st.container(key="below"):
        _show_reasons(view, convention, measured)


def build_case_rows(measured: dict[str, np.ndarray], view: View, convention: Convention) -> list[ModeRow]:
    """Build the chart's rows, one per shown case; their accuracies are None before they are measured."""
    words = describe_cases(view, convention)
    shown = SHOWN_CASES.get(view["mistakes"], words)
    return [ModeRow(*words[key][:2], measured.get(key)) for key in words if key in shown]


def draw_case_rows(rows: list[ModeRow], theme: str) -> DrawnFigure:
    """Draw the chart of accuracies by case, with its text alternative."""
    said = "; ".join(f"{row.name}: {format_mean_percent(row.accuracy)}" for row in rows if row.accuracy is not None)
    alt = f"Accuracy on unseen digits. {said or 'Training.'}"
    return DrawnFigure(draw_accuracies(rows, 1 / DIGIT_CLASSES, theme), alt, f"{max(2.3 * len(rows), 10) + 3:g}rem")


def show_training_status(run: runs.PageRun, was_running: bool) -> None:
    """Show progress while training runs, or ran at the start (`was_running`); else its networks, or why it stopped."""
    run.poll()
    missing = bool(run.find_missing_jobs())
    if run.request is not None and (was_running or missing):
        runs.show_progress(run, "Training networks", "cancel networks")
        runs.rerun_on_change(run.find_missing_jobs, run)
    elif missing:
        runs.show_restart(run, run.error or "Training was stopped.", "Train", "train networks")
    else:
        (pictures, _), (unseen, _) = load_input_rows(), load_input_rows(test=True)
        layers = " → ".join(str(width) for width in (pictures.shape[1], *WIDTHS, DIGIT_CLASSES))
        st.caption(
            f"{NETWORK_COUNT} networks of {layers} units, batch norm and ReLU, each with a seed of its own, trained on "
            f"{STEPS} batches of {run.shown.batch} of {len(pictures):,} digits. Accuracy on {len(unseen)} others: "
            "mean over the networks with its 95% interval."
        )


def describe_cases(view: View, convention: Convention) -> dict[str, tuple[str, str, str]]:
    """Return name, colour role and description, by key, of each way to get batch norm's statistics at test time."""
    share, batch, few = view["share"], view["batch"], cases.TOO_SMALL_SHARE
    momentum, swapped, slow = (typeset(round(convention.convert_momentum(each), 9)) for each in (share, 1 - share, few))
    other, on = typeset(round(1 - share, 9)), f"{convention.training} left on"
    words = {
        "population": (
            "Right: statistics of all training digits", "ink",
            "Mean and variance of all training digits with the final weights. Running averages estimate them.",
        ),
        "running": (
            f"{convention.inference}, {convention.name} momentum {momentum}", "inference",
            "The averages at the end of training, with the momentum and framework set on the left.",
        ),
        "fresh": (
            "Averages never updated", "inference",
            "They stay at mean 0 and variance 1, as in a checkpoint without them.",
        ),
        "few": (
            f"Momentum too small: {slow}" if convention.of_new else f"Momentum too large: {slow}", "inference",
            f"A new batch has a share of {few:g}: after {STEPS} batches {(1 - few) ** STEPS:.0%} of the average is "
            "still its start.",
        ),
        "mixed": (
            f"Momentum mixed up: {swapped} instead of {momentum}", "inference",
            f"PyTorch's momentum given to Keras, or Keras's to PyTorch: a new batch has a share of {other} instead of "
            f"{typeset(share)}.",
        ),
        "stale": (
            f"Averages stopped after {cases.STALE_AFTER} batches", "inference",
            f"The weights changed for {STEPS - cases.STALE_AFTER} more, and their sums drifted away from the averages.",
        ),
        "contrast": (
            "Test pictures of half the contrast", "inference",
            "The statistics of the training digits do not fit these test data.",
        ),
        "one": (
            f"{on}, one digit at a time", "training",
            "A digit alone is its own mean: x̂ = 0 in every neuron, and the answer is the same for all digits.",
        ),
        "class": (
            f"{on}, one class at a time", "training",
            "Each batch holds one class. Subtracting its mean removes what the digits of the class have in common.",
        ),
        "batches": (
            f"{on}, mixed batches of {batch}", "training",
            "The answer for a digit depends on the other digits in its test batch.",
        ),
    }  # fmt: skip
    missing = {*(() if batch > 1 else CASES_NEEDING_OTHERS), *(("one",) if convention.unbiased else ())}
    return {key: row for key, row in words.items() if key not in missing}


def format_costliest_mistakes(measured: dict[str, np.ndarray], view: View, convention: Convention) -> tuple[str, str]:
    """Return a headline on the mistake that costs most accuracy, and a sentence on the next two."""
    if not measured:
        return "### Accuracy …% → …%", "Other mistakes: …"
    right, words = measured["population"].mean(), describe_cases(view, convention)
    mistakes = [key for key in words if key not in cases.CORRECT_CASES]
    worst, *others = sorted(mistakes, key=lambda key: float(measured[key].mean()))
    following = "; ".join(f"{words[key][0]}, {measured[key].mean():.0%}" for key in others[:2])
    headline = f"### Accuracy {right:.0%} → {measured[worst].mean():.0%}: {words[worst][0]}"
    return headline, f"Other mistakes: {following}."


def _show_reasons(view: View, convention: Convention, measured: dict[str, np.ndarray]) -> None:
    words = describe_cases(view, convention)
    for column, role in zip(st.columns(2, gap="large"), ("inference", "training"), strict=True):
        lines = [
            f"- **{name}** ({_format_accuracy_change(key, measured)}). {why}"
            for key, (name, mode, why) in words.items()
            if mode == role and key not in cases.CORRECT_CASES
        ]
        if role == "training" and convention.unbiased:
            lines.append(
                f"- **{convention.training} left on, one digit at a time** (`ValueError`). {convention.name} refuses: "
                "each neuron needs more than one value in training mode."
            )
        with column:
            heading = convention.inference if role == "inference" else convention.training
            st.markdown(f"In {role}, `{heading}`:\n" + "\n".join(lines))


def _format_accuracy_change(key: str, measured: dict[str, np.ndarray]) -> str:
    if not measured:
        return "…% → …%"
    return f"{measured['population'].mean():.0%} → {measured[key].mean():.0%}"
