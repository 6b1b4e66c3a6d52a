"""Stand-ins whose time and work move when a test says so, and a place that collects results."""

from concurrent.futures import Executor, Future

SOON = 5.0  # seconds that a test waits at most for what should come at once


class Clock:
    """A time that passes when the test says so."""

    now = 0.0

    def __call__(self):
        return self.now


class Later(Executor):
    """Runs what was submitted when the test says so, in the order in which it came."""

    def __init__(self):
        self.waiting, self.jobs = [], []

    def submit(self, function, /, *arguments):
        future = Future()
        future.job = arguments[0]
        self.waiting.append((future, function, arguments))
        self.jobs.append(arguments[0])
        return future

    def work(self):
        future, function, arguments = self.waiting.pop(0)
        future.set_running_or_notify_cancel()
        try:
            result = function(*arguments)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def take(self):
        """A worker takes the next job and has not done a step yet; its control."""
        future, _, arguments = self.waiting[0]
        future.set_running_or_notify_cancel()
        return arguments[1]


class Kept(list):
    """Collects what is kept; two are never the same place."""

    __hash__ = object.__hash__

    def __call__(self, job, result):
        self.append((job, result))
