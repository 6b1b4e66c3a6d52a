"""Slow tests are listed, heavy ones are left out, and long files begin first."""

from pathlib import Path

import durations
import pytest
from browsing import ROOT

pytest_plugins = ["pytester"]

SLOW = """
import time, pytest
def test_slow(): time.sleep(0.05)
def test_quick(): pass
@pytest.mark.heavy
def test_heavy(): time.sleep(0.05)
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    """A function that runs a suite with the hooks and markers of this one, and a limit of 20 ms."""
    hooks = "pytest_collection_modifyitems, pytest_terminal_summary"
    pytester.makeconftest(f"from durations import {hooks}")
    pytester.makeini("[pytest]\nmarkers = heavy: takes long")

    def run(files, *options):
        pytester.makepyfile(**files)
        with monkeypatch.context() as patched:
            patched.setattr(durations, "LIMIT", 0.02)
            return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)

    return run


def test_a_slow_test_is_listed_and_does_not_fail(suite):
    found = suite({"test_slow": SLOW}, "-m", "not heavy")
    found.assert_outcomes(passed=2, deselected=1)
    found.stdout.fnmatch_lines(["*longer than 0.02 s*", "0.1 s *::test_slow"])


def test_a_heavy_test_and_a_quick_one_are_not_listed(suite):
    found = suite({"test_slow": SLOW}, "-m", "")
    found.assert_outcomes(passed=3)
    assert [line for line in found.stdout.lines if line.endswith(("::test_heavy", "::test_quick"))] == []


def test_a_long_file_begins_first(suite, monkeypatch):
    monkeypatch.setattr(durations, "LONG_FILES", ("test_z.py", "test_y.py"))
    found = suite({f"test_{name}": "def test(): pass" for name in "xyz"}, "-v", "-m", "")
    found.stdout.fnmatch_lines(["*test_z.py::test*", "*test_y.py::test*", "*test_x.py::test*"])


def test_every_long_file_is_there():
    assert [path for path in durations.LONG_FILES if not Path(ROOT, path).is_file()] == []
