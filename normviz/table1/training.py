"""The page's trainings: what is missing is trained by one job per session, outside of the script."""

import time
from collections.abc import Sequence
from uuid import uuid4

import streamlit as st

from normviz.core.schemes import Scheme
from normviz.jobs.desk import Desk, Job
from normviz.networks.setting import Setting
from normviz.table1.results import Results

AT_ONCE = 0.25
"""Seconds that the page waits for a training before it shows what is there."""

POLL = 0.5


@st.cache_resource
def results() -> Results:
    """All that has been trained on this server; a class that opens one link trains once."""
    return Results()


@st.cache_resource
def desk() -> Desk:
    """Where all sessions hand in their jobs."""
    return Desk()


def start(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> Job | None:
    """The session's job on what is missing of these settings; None where nothing is, or the user has stopped it."""
    state, known = st.session_state, results()
    key = (tuple(schemes), tuple(settings))
    if not any(known.missing(schemes, setting) for setting in settings):
        return None
    if state.get("stopped") == key:
        return None
    state["stopped"] = state["why"] = None
    owner = state.setdefault("owner", str(uuid4()))

    def work(job: Job) -> None:
        import torch

        torch.set_num_threads(1)  # many sessions share few cores
        for number, setting in enumerate(settings):
            if job.stopped():
                return

            def told(share: float, number: int = number) -> None:
                job.progress = (number + share) / len(settings)

            known.fill(schemes, setting, told, job.stopped)

    return desk().submit(owner, key, work)


def status(job: Job | None, running: bool, schemes: Sequence[Scheme], settings: Sequence[Setting]) -> None:
    """How far the training is, with a button that ends it; what it ran on; or what went wrong."""
    if running:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(job.progress, f"Training: {job.progress:.0%}", width="stretch")
            st.button("Cancel", on_click=_stop, args=(job,), key="cancel")
        st.session_state["looked"] = time.monotonic()
        _watch(job)
        return
    if job is not None and job.error is not None:
        st.session_state["stopped"], st.session_state["why"] = job.key, str(job.error)  # until something is changed
    if not any(results().missing(schemes, setting) for setting in settings):
        return
    if st.session_state.get("why"):
        st.error(st.session_state["why"])
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Training was stopped; the gaps are those of the steps so far.", width="content")
            st.button("Train again", on_click=lambda: st.session_state.update(stopped=None), key="again")


def _stop(job: Job) -> None:
    job.cancel()
    st.session_state["stopped"] = job.key


@st.fragment(run_every=POLL)
def _watch(job: Job) -> None:
    """Renew the job's lease as long as the page is open, and show the page anew."""
    job.renew()
    if time.monotonic() - st.session_state["looked"] > POLL / 2:
        st.rerun()
