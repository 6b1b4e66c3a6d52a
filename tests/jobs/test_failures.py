"""Where an error came from: the innermost line of this package, whatever was called beyond it."""

import re

import pytest
from pretend import SOON, Kept
from work import Does

from normviz.core.fields import Field
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.failures import RemoteTraceback, describe_error, locate_error
from normviz.jobs.job_queue import JobQueue


def test_an_error_says_the_innermost_line_of_this_package():
    with pytest.raises(ValueError, match="nonsense") as raised:
        Field.parse("nonsense", ("N", "C"))
    assert re.fullmatch(r"normviz/core/fields\.py, line \d+, in \w+", locate_error(raised.value))


def test_an_error_of_a_job_in_a_thread_says_its_line_after_its_frames_were_let_go():
    with create_thread_pool(1) as pool:
        request = JobQueue(pool).submit([Does("refuses")], Kept())
        assert request.wait(SOON)
    assert re.fullmatch(r"normviz/core/fields\.py, line \d+, in \w+", locate_error(request.error))


def test_an_error_from_elsewhere_says_where_it_was_there():
    error = ValueError("no such device")
    error.__cause__ = RemoteTraceback(
        'File "/srv/normviz/normviz/jobs/job_queue.py", line 1, in submit\n'
        'File "C:\\apps\\normviz\\normviz\\table1\\training.py", line 96, in _steps\n'
        'File "/usr/lib/python3/torch/cuda.py", line 7, in init\n'
    )
    assert locate_error(error) == "normviz\\table1\\training.py, line 96, in _steps"


def test_an_error_that_never_was_here_says_nothing():
    with pytest.raises(ZeroDivisionError) as raised:
        1 / 0  # noqa: B018
    assert locate_error(raised.value) == ""


def test_where_an_error_came_from_is_not_told_of_one_that_says_what_would_be_right():
    with pytest.raises(ValueError, match="nonsense") as raised:
        Field.parse("nonsense", ("N", "C"))
    assert describe_error(raised.value) == str(raised.value)
    other = ValueError("no such device").with_traceback(raised.tb)
    assert re.fullmatch(
        r"no such device \(ValueError in normviz/core/fields\.py, line \d+, in \w+\)", describe_error(other)
    )
