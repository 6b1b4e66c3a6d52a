import pytest

from normviz.jobs.executors import create_thread_pool, limit_to_one_core
from normviz.jobs.job_queue import JobQueue
from normviz.topics.table1 import training_panels
from normviz.ui.runs import get_speed_estimator


@pytest.fixture(scope="session")
def queues():
    """Queues of threads for short and long trainings, by the function that the page calls for them."""
    with create_thread_pool(2, limit_to_one_core) as short, create_thread_pool(1, limit_to_one_core) as long:
        yield {
            "get_table_queue": JobQueue(short, workers=2, speed_estimator=get_speed_estimator()),
            "get_long_training_queue": JobQueue(long, workers=1, speed_estimator=get_speed_estimator()),
        }


@pytest.fixture(autouse=True)
def _in_threads(monkeypatch, queues):
    """The page trains in threads of the test, which can replace what they do."""
    for name, queue in queues.items():
        monkeypatch.setattr(training_panels, name, lambda queue=queue: queue)
