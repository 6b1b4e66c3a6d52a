"""Random links and random clicks: every page stays whole, whatever it is given. `benchmarks/links.py` tries more."""

import random

import pytest
import wandering

PAGES = [page for page in wandering.STATES if page != "invariance"]  # which has jobs, and bounds of its own
MOST_SECONDS = 10.0
"""Of the processor for one run: 2 on a machine of today, and room for a slow one."""


def whole(runs):
    """No run raised, showed nothing, or took too long."""
    assert [run for run in runs if run.fault] == []
    assert [run for run in runs if run.seconds > MOST_SECONDS] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_it_is_for_whatever_its_link_says(page):
    rng = random.Random(page)
    whole([wandering.opened(page, wandering.link_of(page, rng))[1] for _ in range(2)])


@pytest.mark.parametrize("page", PAGES)
def test_a_page_stays_whole_whatever_is_clicked(page):
    whole(list(wandering.clicks(page, random.Random(page), 3)))


WORST = {
    "lab, a row": ("tensor_lab", {"n": "1", "h": "65536", "w": "1", "c": "1", "scheme": "divisive", "radius": "16"}),
    "lab, digits": ("tensor_lab", {"n": "65536", "h": "1", "w": "1", "c": "1", "data": "digits"}),
    "compare": ("compare", {"n": "4096", "h": "1", "w": "1", "c": "2", "radius": "16",
                            "schemes": "batch,divisive,group,layer-weight,instance,rms", "colour": "statistic"}),
    "identities": ("identities", {"n": "65536", "h": "1", "w": "1", "c": "1", "row": "windows-batch"}),
    "identities, equal schemes without a map": (
        "identities", {"n": "1", "h": "64", "w": "128", "c": "1", "data": "digits", "panel": "own"}
    ),
}  # fmt: skip
"""The worst links that a search has found."""


@pytest.mark.parametrize("name", WORST)
def test_the_worst_links_are_bounded(name):
    _, run = wandering.opened(*WORST[name])
    whole([run])
    assert run.megabytes < 500


def test_a_page_that_raises_or_shows_nothing_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    (tmp_path / "app.py").touch()
    monkeypatch.setattr(wandering, "ROOT", tmp_path)
    for page, line in (("compare", "raise ValueError('no')"), ("weights", "st.write('nothing')")):
        (tmp_path / "pages" / f"{page}.py").write_text(f"import streamlit as st\n{line}\n")
    faults = [wandering.opened(page, {})[1].fault.partition(":")[0] for page in ("compare", "weights")]
    assert faults == ["ValueError", "nothing is shown"]
