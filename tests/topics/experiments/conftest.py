import pytest

from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.topics.experiments import experiment_runs


class Clock:
    """A time that passes when the test says so."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A server of its own for every test: its queue and what it keeps."""

    class Server:
        def restart(self):
            archive = ResultArchive(ResultCache(tmp_path / "results.sqlite"))
            monkeypatch.setattr(experiment_runs, "get_archive", lambda: archive)

    with create_thread_pool(1) as pool:
        new = Server()
        new.clock = Clock()
        queue = JobQueue(pool, clock=new.clock)  # whose time stands still
        monkeypatch.setattr(experiment_runs, "get_experiment_queue", lambda: queue)
        new.restart()
        yield new
