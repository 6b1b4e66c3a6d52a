"""How long tests take: the limit of one, and the files that begin first."""

from collections.abc import Iterable

import pytest

LIMIT = 15.0
"""Seconds that a test of `make test` should take at most on a quiet machine."""

LONG_FILES = (
    "tests/browser/test_playing.py",
    "tests/browser/test_table.py",
    "tests/browser/test_cube.py",
    "tests/browser/test_claims_shown.py",
    "tests/browser/test_stages_shown.py",
    "tests/browser/test_experiments.py",
    "tests/browser/test_design_shown.py",
    "tests/topics/same/test_detector.py",
    "tests/topics/table1/test_script.py",
    "tests/topics/lab/test_pages.py",
    "tests/topics/experiments/test_experiment_runs_page.py",
    "tests/topics/running/test_accuracy_page.py",
    "tests/topics/experiments/test_experiment.py",
    "tests/topics/table1/test_table_page.py",
    "tests/core/test_normalize.py",
    "tests/data/test_upload_cost.py",
    "tests/test_wandering.py",
    "tests/topics/running/test_running_page.py",
    "tests/test_first_visitors.py",
    "tests/topics/design/test_design_training.py",
    "tests/test_cli_output.py",
)
"""Files that begin first: one that began last would keep one process at work while the others have ended."""


def find_slow(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each test that took longer than LIMIT and is not marked heavy."""
    slow = (each for each in reports if each.duration > LIMIT and "heavy" not in each.keywords)
    return [f"{each.duration:.1f} s {each.nodeid}" for each in slow]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the tests that took too long for `make test`; a busy machine makes any test slow, so none of them fails."""
    lines = find_slow(terminalreporter.getreports("passed"))
    if lines:
        terminalreporter.section(f"longer than {LIMIT:g} s: mark as heavy what takes so long on a quiet machine, too")
        terminalreporter.write_line("\n".join(lines))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""
    places = {path: place for place, path in enumerate(LONG_FILES)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
