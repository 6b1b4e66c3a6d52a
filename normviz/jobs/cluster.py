"""Jobs on a Dask cluster: `NORMVIZ_DASK=tcp://host:8786` names its scheduler, the extra `cluster` brings the library.

A job that nobody wants any more is dropped by its client, and reads so in its worker's own state: nothing is asked over
the network. It reports to the topic named as the client, of which the scheduler keeps the last 1,000 events and clears
them when the client has long gone. A job whose worker dies is run again by another; that is Dask's doing.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import CancelledError, Executor, Future
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from normviz.core.errors import InvalidInput
from normviz.jobs.executors import STOP_POLL_SECONDS, Control, limit_to_one_core
from normviz.jobs.versions import check_versions, get_installed_versions

if TYPE_CHECKING:
    import distributed

DASK_VARIABLE = "NORMVIZ_DASK"
"""The environment variable that holds the address of a scheduler."""

ANSWER_TIMEOUT = 5.0
"""Seconds within which a scheduler and its workers answer."""


def create_configured_cluster() -> "Cluster | None":
    """The cluster that the environment names, None where it names none. Raises InvalidInput as `Cluster` does."""
    address = os.environ.get(DASK_VARIABLE, "").strip()
    return Cluster(address) if address else None


@dataclass
class DaskControl:
    """The control of one job on a worker: reads the worker's state, and logs events there."""

    topic: str
    key: str
    begun: bool = False

    def stopped(self) -> bool:
        """Never True: raises Reschedule where the work is to end.

        What was done so far can then not be taken for the whole. Where it was cancelled, nobody hears of it; where only
        the worker closes, another one does the job.
        """
        from distributed import Reschedule, Status, get_worker

        worker = get_worker()
        if not self.begun:
            self.begun = True
            worker.log_event(self.topic, (self.key, 0.0, None))
            limit_to_one_core()
        task = worker.state.tasks.get(self.key)
        closes = worker.status in (Status.closing, Status.closed, Status.failed)
        if closes or task is None or task.state == "cancelled":
            raise Reschedule
        return False

    def tell(self, share: float, result: Any) -> None:
        """Log it; the scheduler passes it on unread."""
        from distributed import get_worker
        from distributed.protocol import to_serialize

        get_worker().log_event(self.topic, (self.key, share, to_serialize(result)))


@dataclass
class SentJob:
    """A job that was sent: its control here, what who sent it waits for, and what Dask calls it."""

    control: Control
    future: Future[Any]
    task: "distributed.Future"


class SchedulerConnection:
    """One connection to a scheduler, until that is lost, and the jobs that were sent over it.

    A thread of its own tells the desk what comes back, and the cluster what nobody wants any more.

    Raises InvalidInput where nobody answers, no worker is there, or versions differ.
    """

    def __init__(self, address: str) -> None:
        self.address, self.client = address, _connected(address)
        self._checked: set[str] = set()
        self._sent: dict[str, SentJob] = {}
        self._news: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock, self._over = Lock(), False
        self._thread = Thread(target=self._pass_on, name="cluster", daemon=True)
        self.client.subscribe_topic(self.client.id, self._hear)
        self._thread.start()

    @property
    def lost(self) -> bool:
        """Whether nothing can be sent over it any more."""
        return self._over or self.client.status != "running"

    def check(self) -> None:
        """Raise InvalidInput where the scheduler, or a worker that came since, has not the versions that are here."""
        soon: dict[str, Any] = {"callback_timeout": ANSWER_TIMEOUT}
        try:
            if not self._checked:
                check_versions(
                    f"The Dask scheduler at {self.address}", self._of_scheduler(soon)
                )  # it reads what is sent
            if not self._workers(soon):
                self.client.wait_for_workers(1, timeout=ANSWER_TIMEOUT)
            new = self._workers(soon) - self._checked
            found = self.client.run(get_installed_versions, workers=[*new], on_error="return", **soon) if new else {}
        except TimeoutError as error:
            raise InvalidInput(
                f"The Dask cluster at {self.address} has no worker that answers within {ANSWER_TIMEOUT:g} s; "
                f"start one: "
                f"dask worker {self.address} --nthreads 1"
            ) from error
        except OSError as error:
            raise self._gone() from error
        for worker, there in found.items():
            if not isinstance(there, OSError):  # a worker that has just gone
                check_versions(f"The Dask worker at {worker}", there)
                self._checked.add(worker)

    def _workers(self, soon: dict[str, Any]) -> set[str]:
        """The addresses of the workers that are there."""
        scheduler = self.client.scheduler
        return {*self.client.sync(scheduler.ncores, **soon)} if scheduler else set()

    def _of_scheduler(self, soon: dict[str, Any]) -> Any:
        """Its versions, or what it raised."""
        try:
            return self.client.run_on_scheduler(get_installed_versions, **soon)
        except OSError:
            raise
        except Exception as error:
            return error

    def send(self, function: Callable[..., Any], job: Any, control: Control, *more: Any) -> Future[Any]:
        """Let a worker call the function with the job, a control that stands for this one, and what more there is."""
        key = f"normviz-{uuid4().hex}"
        there = DaskControl(self.client.id, key)
        with self._lock:
            if self._over:
                raise self._gone()
            task = self.client.submit(function, job, there, *more, key=key, pure=False)
            sent = self._sent[key] = SentJob(control, Future(), task)
        task.add_done_callback(partial(self._fetch, key))
        return sent.future

    def close(self, wait: bool) -> None:
        """Give it up, at once or when all jobs have ended."""
        if wait:
            futures.wait([sent.future for sent in [*self._sent.values()]])
        self._over = True
        self._thread.join()

    def _hear(self, event: tuple[float, Any]) -> None:
        """An event of the client's topic: of a task, or one of Dask's own."""
        _, message = event
        if isinstance(message, tuple):
            self._news.put(partial(self._told, *message))

    def _told(self, key: str, share: float, result: Any) -> None:
        """A worker has begun a job, or tells what it has so far."""
        sent = self._sent.get(key)
        if sent is None:
            return
        if not sent.future.running():
            sent.future.set_running_or_notify_cancel()
        if result is not None:
            sent.control.tell(share, result)

    def _fetch(self, key: str, task: "distributed.Future") -> None:
        """The outcome of a task that has ended. In Dask's own thread, as it may take a while to come."""
        try:
            ended = partial(self._end, key, task.result())
        except Exception as error:
            ended = partial(self._end, key, None, error)
        self._news.put(ended)

    def _end(self, key: str, result: Any, error: Exception | None = None) -> None:
        """Give the desk the outcome of a task."""
        sent = self._sent.pop(key, None)
        if sent is None:
            return
        if error is None or sent.control.stopped():
            sent.future.set_result(result)
        else:
            sent.future.set_exception(self._in_words(error))

    def _pass_on(self) -> None:
        """Pass on until the connection is lost; then end what is still open."""
        while not self.lost:
            try:
                self._news.get(timeout=STOP_POLL_SECONDS)()
            except Empty:
                pass
            except Exception:
                logging.getLogger(__name__).exception("A report of a job could not be kept.")
            for sent in [*self._sent.values()]:
                if not sent.task.done() and sent.control.stopped():
                    sent.task.cancel()
        with self._lock:
            self._over = True
        for key in [*self._sent]:
            self._end(key, None, self._gone())
        self.client.close()

    def _in_words(self, error: Exception) -> Exception:
        """What a page can show."""
        from distributed import KilledWorker

        if isinstance(error, CancelledError):
            return self._gone()
        if isinstance(error, KilledWorker):
            return InvalidInput(
                f"{error.allowed_failures + 1} workers of the Dask cluster died while they ran this job, the last at "
                f"{error.last_worker.address}. Their memory may be too small for it."
            )
        return error

    def _gone(self) -> InvalidInput:
        return InvalidInput(
            f"The Dask scheduler at {self.address} has gone, or was restarted; start the job again when it is there, "
            f"or name another one in {DASK_VARIABLE}."
        )


class Cluster(Executor):
    """A Dask cluster as an executor, which takes what a `JobQueue` hands in, as `ProcessExecutor` does.

    It connects when a job comes, and anew where the connection was lost.

    Args:
        address: of its scheduler, such as tcp://host:8786.

    Raises InvalidInput where that is no address, or Dask is not installed.
    """

    def __init__(self, address: str) -> None:
        _endpoint(address)
        if find_spec("distributed") is None:
            raise InvalidInput(
                f"{DASK_VARIABLE} is {address}, and Dask is not installed: pip install 'normviz[cluster]'."
            )
        self.address = address
        self._link: SchedulerConnection | None = None
        self._lock, self._shut = Lock(), False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """The future of what the function makes of a job; raises InvalidInput as `Link` does."""
        with self._lock:
            if self._shut:
                raise RuntimeError("no job is taken after shutdown")
            if self._link is None or self._link.lost:
                self._link = SchedulerConnection(self.address)
            self._link.check()
            return self._link.send(function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection, by default when all jobs have ended."""
        with self._lock:
            self._shut = True
        if self._link is not None:
            self._link.close(wait and not cancel_futures)


def _endpoint(address: str) -> tuple[str, int]:
    """The host and the port of an address."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:  # a port that is none
        pass
    raise InvalidInput(
        f"{DASK_VARIABLE} is {address!r}, which is no address of a Dask scheduler; tcp://host:8786 would be one."
    )


def _connected(address: str) -> "distributed.Client":
    """A client of the scheduler."""
    from distributed import Client

    try:
        socket.create_connection(_endpoint(address), timeout=ANSWER_TIMEOUT).close()
    except OSError as error:
        raise InvalidInput(
            f"No Dask scheduler listens at {address} ({error}); start one with `dask scheduler`, or name another in "
            f"{DASK_VARIABLE}."
        ) from error
    try:
        asyncio.run(_greeted(address))
        return Client(address, timeout=ANSWER_TIMEOUT, set_as_default=False, name="normviz")
    except OSError as error:
        raise InvalidInput(f"What listens at {address} does not answer as a Dask scheduler does.") from error


async def _greeted(address: str) -> None:
    """Raise OSError where no scheduler answers, for which a client would wait without end."""
    from distributed import Security
    from distributed.comm import connect

    arguments = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=ANSWER_TIMEOUT, **arguments), ANSWER_TIMEOUT)
    comm.abort()
