"""A class opens its link on a server that has just started: thirty at once, and nobody sees an error."""

import os
import subprocess
import sys
from itertools import cycle, islice

import pytest
from browsing import ROOT, served
from visitors import PAGES, all_at_once, busy_processes
from watched import Server

CLASS = 30


@pytest.fixture(autouse=True)
def _unlimited(monkeypatch):
    """Start servers as users do, without the limit on threads that the tests set for themselves."""
    monkeypatch.delenv("OMP_NUM_THREADS")


@pytest.mark.parametrize(
    "pages", [["", "invariance"], pytest.param(PAGES, marks=pytest.mark.heavy)], ids=["two pages", "every page"]
)
def test_thirty_at_once_on_a_server_just_started(pages):
    with served("app.py") as url:
        visits = all_at_once(url, list(islice(cycle(pages), CLASS)))
    assert [error for visit in visits for error in visit.errors] == []
    assert all(visit.elements > 10 for visit in visits)


@pytest.mark.heavy
def test_thirty_open_geometry_at_once_beside_two_busy_processes():
    with busy_processes(2), served("app.py") as url:
        visits = all_at_once(url, ["geometry"] * CLASS)
    assert [error for visit in visits for error in visit.errors] == []
    assert all(visit.elements > 10 for visit in visits)


THREADS = """
import streamlit.web.bootstrap, app, numpy, scipy.linalg, torch
from threadpoolctl import threadpool_info
print({each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}, torch.get_num_threads())
"""
"""What `streamlit run app.py` imports, in its order; how many threads BLAS and PyTorch use then."""


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core has one thread anyway")
@pytest.mark.parametrize(
    ("given", "found"), [({}, "{1} 1"), pytest.param({"OPENBLAS_NUM_THREADS": "2"}, "{2} 1", marks=pytest.mark.heavy)]
)
def test_the_server_computes_on_one_thread_unless_told_otherwise(given, found):
    done = subprocess.run(
        [sys.executable, "-c", THREADS], cwd=ROOT, env=os.environ | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == found


HEAVIEST = "?n=65536&h=1&w=1&c=1&view=unfolded&data=digits&scheme=divisive&radius=16"
"""Of the tensor lab, with the most faces, and the pictures that take longest to be made."""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_thirty_at_once_on_the_heaviest_link():
    with served("app.py") as url:
        visits = all_at_once(url, [HEAVIEST] * CLASS)
        peak = Server(url).peak()
    assert [error for visit in visits for error in visit.errors] == []
    assert peak < 1e9  # 530 MB; with every corner in the figure it was 1.6 GB


def test_an_error_on_a_page_is_seen(tmp_path):
    (tmp_path / "broken.py").write_text("import streamlit as st\n\nst.write('before')\nraise ValueError('after')\n")
    with served(str(tmp_path / "broken.py")) as url:
        [visit] = all_at_once(url, [""])
    assert len(visit.errors) == 1
