"""Tests take their time, and no more: the limit is kept, heavy tests are left out, and long files begin first."""

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
    hooks = "pytest_collection_modifyitems, pytest_runtest_makereport"
    pytester.makeconftest(f"from durations import {hooks}")
    pytester.makeini("[pytest]\nmarkers = heavy: takes long")

    def run(files, *options):
        pytester.makepyfile(**files)
        with monkeypatch.context() as patched:
            patched.setattr(durations, "find_limit", lambda path: 0.02)
            return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options)

    return run


def test_a_slow_test_fails_unless_it_is_heavy(suite):
    found = suite({"test_slow": SLOW}, "-m", "not heavy")
    found.assert_outcomes(passed=1, failed=1, deselected=1)
    found.stdout.fnmatch_lines(["*0.1 s, and a test may take 0.0 s: mark it heavy*"])


def test_all_tests_may_take_their_time(suite):
    suite({"test_slow": SLOW}, "-m", "").assert_outcomes(passed=3)


def test_a_long_file_begins_first(suite, monkeypatch):
    monkeypatch.setattr(durations, "LONG_FILES", ("test_z.py", "test_y.py"))
    found = suite({f"test_{name}": "def test(): pass" for name in "xyz"}, "-v", "-m", "")
    found.stdout.fnmatch_lines(["*test_z.py::test*", "*test_y.py::test*", "*test_x.py::test*"])


def test_every_long_file_is_there():
    assert [path for path in durations.LONG_FILES if not Path(ROOT, path).is_file()] == []


@pytest.mark.parametrize(("load", "seconds"), [(0.0, 15.0), (2.0, 15.0), (4.0, 30.0)])
def test_a_busy_machine_is_given_its_time(load, seconds):
    assert durations.compute_limit(load, cores=2) == seconds
