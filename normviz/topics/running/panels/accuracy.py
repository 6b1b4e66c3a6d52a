"""The panel on what goes wrong: networks are trained outside of the page, and their accuracies compared."""

import time
from dataclasses import dataclass

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.text import typeset
from normviz.data.digits import DIGIT_CLASSES
from normviz.describe.seeds import format_mean_percent
from normviz.jobs.executors import count_threads, threads
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest
from normviz.jobs.spec import digest
from normviz.jobs.store import Store
from normviz.topics.running import cases
from normviz.topics.running.averages import CONVENTIONS, Convention
from normviz.topics.running.figures import ModeRow, accuracy_figure
from normviz.topics.running.network import NETWORKS, STEPS, WIDTHS, Trained, Training, inputs
from normviz.topics.running.state import PAGE, PREFIX
from normviz.ui.link import View
from normviz.ui.saving import save_table
from normviz.ui.work import POLL, progress_words, speed, still_running_after, submit_or_reuse
from normviz.web.components.plot import plot

NEEDS_OTHERS = ("stale", "batches")
"""Cases that batches of one do not have: x̂ is 0 there, so the weights in front never move, and no digit has others."""

KEPT = 40
"""Trainings that are kept for all sessions, of two megabytes each."""

KEY = PREFIX + "training"
"""Where the session holds what it asks for."""


@dataclass
class RunRequest:
    """What a session's page shows: its trainings and their ticket; stopped by the user or, with a reason, by an error.

    `looked`: when the page last ran, on the monotonic clock; `seen`: how many of the trainings were there then.
    """

    jobs: tuple[Training, ...]
    ticket: JobRequest | None = None
    stopped: bool = False
    error: str = ""
    looked: float = 0.0
    seen: int = 0

    def missing(self) -> list[Training]:
        """What is still to be trained."""
        return [job for job in self.jobs if trained(job) is None]

    def stop(self, error: str = "") -> None:
        """Train no more of it, until that is asked for or something is changed."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket, self.stopped, self.error = None, True, error

    def again(self) -> None:
        """Train the rest after all."""
        self.stopped, self.error = False, ""


@st.cache_resource
def results() -> Store[str, Trained]:
    """All networks that were trained on this server; a class that opens one link trains once."""
    return Store(KEPT)


@st.cache_resource
def desk() -> JobQueue:
    """Where all sessions hand in their trainings."""
    workers = count_threads()
    return JobQueue(threads(workers), workers=workers, speed=speed())


def keep(job: Training, found: Trained) -> None:
    """Keep what was trained to its end."""
    if len(found.means) == STEPS:
        results().put(digest(job), found)


def trained(job: Training) -> Trained | None:
    """The networks of a training, where it has come to its end."""
    return results().get(digest(job))


@st.cache_data(max_entries=64, show_spinner=False)
def costs(asked: Training, framework: str, share: float, _trained: Trained) -> dict[str, np.ndarray]:
    """The accuracy of every case, once for all sessions."""
    return cases.costs(_trained, asked, CONVENTIONS[framework], share)


def show(view: View, theme: str) -> None:
    """What each mistake costs, at the page's batch size, ε, momentum and seed."""
    convention = CONVENTIONS[view["framework"]]
    if view["batch"] == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train this network, which is dense, on one digit at a time.")
    job = Training(view["batch"], view["eps"], view["seed"])
    asked = start((job,))
    working = still_running_after(asked.ticket)
    with st.container(key="work"):
        status(asked, working)
    found = trained(job)
    measured = {} if found is None else costs(job, view["framework"], view["share"], found)
    _headline(measured, view, convention)
    rows = [ModeRow(*words[:2], measured.get(key)) for key, words in wording(view, convention).items()]
    said = "; ".join(f"{row.name}: {format_mean_percent(row.accuracy)}" for row in rows if row.accuracy is not None)
    plot(
        accuracy_figure(rows, 1 / DIGIT_CLASSES, theme), "effect",
        f"Accuracy on unseen digits. {said or 'Training.'}", f"{3.2 * len(rows) + 3:g}rem",
    )  # fmt: skip
    if measured:
        save_table(lambda: accuracy_table(rows), "accuracy")
    _reasons(view, convention, measured)


def accuracy_table(rows: list[ModeRow]) -> dict[str, list]:
    """The accuracy of every case that was measured, in columns: one for each network."""
    found = {row.name: row.accuracy for row in rows if row.accuracy is not None}
    by_network = np.transpose(list(found.values()))
    return {"case": list(found)} | {f"network {k}": each.tolist() for k, each in enumerate(by_network)}


def start(jobs: tuple[Training, ...]) -> RunRequest:
    """See to it that these are trained: what is missing is handed in, unless it is at work already."""
    held: RunRequest | None = st.session_state.get(KEY)
    asked = held if held is not None and held.jobs == jobs else RunRequest(jobs)
    st.session_state[KEY] = asked
    ticket = None if held is None else held.ticket
    missing = asked.missing()
    asked.ticket = None if asked.stopped else submit_or_reuse(ticket, missing, desk(), keep, PAGE)
    return asked


def status(asked: RunRequest, working: bool) -> None:
    """How far the training is, with a button that ends it; or what was trained, or why it was not."""
    if asked.ticket is not None and asked.ticket.error is not None:
        asked.stop(str(asked.ticket.error))
    missing = len(asked.missing())
    if asked.ticket is not None and (working or missing):
        asked.looked, asked.seen = time.monotonic(), missing
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Cancel", on_click=asked.stop, key="cancel networks")
            st.progress(asked.ticket.progress, progress_words(asked.ticket, "Training networks"), width="stretch")
        watch(asked)
    elif missing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(asked.error or "Training was stopped.", width="content")
            st.button("Train", on_click=asked.again, key="train networks")
    else:
        (pictures, _), (unseen, _) = inputs(), inputs(test=True)
        layers = " → ".join(str(width) for width in (pictures.shape[1], *WIDTHS, DIGIT_CLASSES))
        st.caption(
            f"{NETWORKS} networks of {layers} units, batch norm and ReLU, each with a seed of its own, trained on "
            f"{STEPS} batches of {asked.jobs[0].batch} of {len(pictures):,} digits. Accuracy on {len(unseen)} others: "
            "mean over the networks with its 95% interval."
        )


@st.fragment(run_every=POLL)
def watch(asked: RunRequest) -> None:
    """Show the page anew when there is something new to show."""
    over = asked.ticket is None or asked.ticket.over
    if (over or len(asked.missing()) < asked.seen) and time.monotonic() - asked.looked > POLL / 2:
        st.rerun()


def wording(view: View, convention: Convention) -> dict[str, tuple[str, str, str]]:
    """Return for every case its name, the role of its colour, and what was done and why that matters."""
    share, batch, few = view["share"], view["batch"], cases.FEW
    momentum, swapped, slow = (typeset(round(convention.other(each), 9)) for each in (share, 1 - share, few))
    other, on = typeset(round(1 - share, 9)), f"{convention.training} left on"
    words = {
        "population": (
            "Right: statistics of all training digits", "ink",
            "Mean and variance of all training digits with the final weights. Running averages estimate them.",
        ),
        "running": (
            f"Running averages, momentum {momentum}", "inference",
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
            f"Momentum mixed up: {swapped} for {momentum}", "inference",
            f"PyTorch's momentum given to Keras, or Keras's to PyTorch: a new batch has a share of {other} instead of "
            f"{typeset(share)}.",
        ),
        "stale": (
            f"Averages stopped after {cases.STALE} batches", "inference",
            f"The weights changed for {STEPS - cases.STALE} more, and their sums drifted away from the averages.",
        ),
        "contrast": (
            "Test pictures of half the contrast", "inference",
            "The statistics of the training digits do not fit these test data.",
        ),
        "one": (
            f"{on}, one digit at a time", "training",
            "A digit alone is its own mean: x̂ = 0 in every unit, and the answer is the same for all digits.",
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
    missing = {*(() if batch > 1 else NEEDS_OTHERS), *(("one",) if convention.unbiased else ())}
    return {key: row for key, row in words.items() if key not in missing}


def _headline(measured: dict[str, np.ndarray], view: View, convention: Convention) -> None:
    """Show the costliest mistake and the next two, in lines that are as high before there are numbers."""
    if not measured:
        st.markdown("### Accuracy …% → …%")
        st.markdown("Other mistakes: …")
        return
    right, words = measured["population"].mean(), wording(view, convention)
    mistakes = [key for key in words if key not in cases.EXPECTED]
    worst, *others = sorted(mistakes, key=lambda key: float(measured[key].mean()))
    st.markdown(f"### Accuracy {right:.0%} → {measured[worst].mean():.0%}: {words[worst][0]}")
    following = "; ".join(f"{words[key][0]}, {measured[key].mean():.0%}" for key in others[:2])
    st.markdown(f"Other mistakes: {following}.")


def _reasons(view: View, convention: Convention, measured: dict[str, np.ndarray]) -> None:
    """What was done in every case and what it cost, by the mode that the network is in."""
    words = wording(view, convention)
    for column, role in zip(st.columns(2, gap="large"), ("inference", "training"), strict=True):
        lines = [
            f"- **{name}** ({_cost(key, measured)}). {why}"
            for key, (name, mode, why) in words.items()
            if mode == role and key not in cases.EXPECTED
        ]
        if role == "training" and convention.unbiased:
            lines.append(
                f"- **{convention.training} left on, one digit at a time** (`ValueError`). {convention.name} refuses: "
                "each unit needs more than one value in training mode."
            )
        with column:
            heading = convention.inference if role == "inference" else convention.training
            st.markdown(f"In {role}, `{heading}`:\n" + "\n".join(lines))


def _cost(key: str, measured: dict[str, np.ndarray]) -> str:
    if not measured:
        return "…% → …%"
    return f"{measured['population'].mean():.0%} → {measured[key].mean():.0%}"
