import pytest
from pretend import Clock, Later

from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue


@pytest.fixture
def pool():
    with create_thread_pool(2) as pool:
        yield pool


@pytest.fixture
def queue(pool):
    return JobQueue(pool, lease=60.0)


@pytest.fixture
def later():
    return Later()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def slow(later, clock):
    """A queue whose jobs and time move when the test says so."""
    return JobQueue(later, lease=10.0, clock=clock)
