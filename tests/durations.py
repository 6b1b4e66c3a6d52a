"""How long tests take: the limit of one, and the files that begin first."""

import os
from collections.abc import Generator

import pytest

LIMIT = 15.0
"""Seconds that a test may take in `make test`. What takes longer is marked `heavy`, or becomes faster."""

LONG_FILES = (
    "tests/browser/test_playing.py",
    "tests/browser/test_table.py",
    "tests/browser/test_cube.py",
    "tests/browser/test_claims_shown.py",
    "tests/browser/test_stages_shown.py",
    "tests/browser/test_experiments.py",
    "tests/browser/test_design_shown.py",
    "tests/readings/test_detector.py",
    "tests/table1/test_script.py",
    "tests/lab/test_pages.py",
    "tests/experiments/test_experiments_page.py",
    "tests/running/test_accuracy_page.py",
    "tests/experiments/test_experiment.py",
    "tests/table1/test_table_page.py",
    "tests/core/test_normalize.py",
    "tests/data/test_upload_cost.py",
    "tests/test_wandering.py",
    "tests/running/test_running_page.py",
    "tests/test_first_visitors.py",
    "tests/design/test_design_training.py",
    "tests/test_cli_output.py",
)
"""Files that begin first: one that began last would keep one process at work while the others have ended."""


def compute_limit(load: float, cores: int) -> float:
    """Return the seconds that a test may take on a machine with this load.

    A core that is shared by several processes gives each of them a part of its time.

    Args:
        load: mean number of processes that run or wait for a core.
        cores: number of cores.

    Example:
        >>> compute_limit(load=1.0, cores=2), compute_limit(load=6.0, cores=2)
        (15.0, 45.0)
    """
    return LIMIT * max(1.0, load / cores)


def find_limit(path: str) -> float:
    """Return the seconds that a test of this file may take on this machine now.

    The mean load follows late. A test in a browser keeps two cores busy, its page and its server.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    own = workers * (2 if path.startswith("tests/browser/") else 1)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 1.0
    return compute_limit(max(own, load), os.cpu_count() or 1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that takes too long for `make test`."""
    report = yield
    is_for_all = item.get_closest_marker("heavy") is None and "not heavy" in item.config.option.markexpr
    limit = find_limit(item.nodeid)
    if report.when == "call" and report.passed and is_for_all and report.duration > limit:
        report.outcome = "failed"
        report.longrepr = f"{report.duration:.1f} s, and a test may take {limit:.1f} s: mark it heavy"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    places = {path: place for place, path in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
