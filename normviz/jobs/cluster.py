"""Jobs on a Dask cluster: `NORMVIZ_DASK=tcp://host:8786` names its scheduler, the extra `cluster` brings the library.

The client drops a job that no request wants any more, and the job finds this in its worker's own state, without a
message over the network. It reports to a topic with the name of the client; the scheduler stores its last 1,000 events,
and clears them some time after the client has gone. If a worker dies, Dask runs its job on another one.
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
from normviz.jobs.executors import STOP_POLL_SECONDS, JobControl, limit_to_one_core
from normviz.jobs.versions import check_versions, get_installed_versions

if TYPE_CHECKING:
    import distributed

DASK_VARIABLE = "NORMVIZ_DASK"
"""The environment variable that holds the address of the scheduler."""

ANSWER_TIMEOUT = 5.0
"""Seconds within which a scheduler and its workers have to answer."""


def create_configured_cluster() -> "Cluster | None":
    """Create a `Cluster` for the scheduler in the environment variable NORMVIZ_DASK; return None if it is unset."""
    address = os.environ.get(DASK_VARIABLE, "").strip()
    return Cluster(address) if address else None


@dataclass
class DaskControl:
    """Control of a job on a Dask worker: it reads the worker's state and logs events on the worker."""

    topic: str
    key: str
    begun: bool = False

    def should_stop(self) -> bool:
        """Return False; raise Reschedule if the job was cancelled or the worker closes.

        So a partial result is never taken for the whole one. If only the worker closes, another worker runs the job.
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

    def report_progress(self, share: float, result: Any) -> None:
        """Log the finished share, 0 to 1, and the partial result as an event that reaches the sender."""
        from distributed import get_worker
        from distributed.protocol import to_serialize

        get_worker().log_event(self.topic, (self.key, share, to_serialize(result)))


@dataclass
class SentJob:
    """Job on the cluster: its control, the future that the sender holds, and Dask's future."""

    control: JobControl
    future: Future[Any]
    task: "distributed.Future"


class SchedulerConnection:
    """Connection to a Dask scheduler, until it is lost, with the jobs that were sent over it.

    A thread passes reports on to the queue, and cancellations to the cluster. Raises InvalidInput if no scheduler or
    worker answers, or if versions differ.
    """

    def __init__(self, address: str) -> None:
        self.address, self.client = address, _connect_client(address)
        self._checked: set[str] = set()
        self._sent: dict[str, SentJob] = {}
        self._news: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock, self._is_closed = Lock(), False
        self._thread = Thread(target=self._forward_messages, name="cluster", daemon=True)
        self.client.subscribe_topic(self.client.id, self._handle_event)
        self._thread.start()

    @property
    def is_lost(self) -> bool:
        """True if the connection to the scheduler is lost, so that no job can be sent."""
        return self._is_closed or self.client.status != "running"

    def check_versions(self) -> None:
        """Raise InvalidInput if the scheduler or a new worker has package versions that differ from this machine's."""
        options: dict[str, Any] = {"callback_timeout": ANSWER_TIMEOUT}
        try:
            if not self._checked:
                there = self._fetch_versions(options)
                check_versions(f"The Dask scheduler at {self.address}", there)  # it unpickles the messages
            if not self._list_workers(options):
                self.client.wait_for_workers(1, timeout=ANSWER_TIMEOUT)
            new = self._list_workers(options) - self._checked
            found = self.client.run(get_installed_versions, workers=[*new], on_error="return", **options) if new else {}
        except TimeoutError as error:
            raise InvalidInput(
                f"The Dask cluster at {self.address} has no worker that answers within {ANSWER_TIMEOUT:g} s; "
                f"start one: dask worker {self.address} --nthreads 1"
            ) from error
        except OSError as error:
            raise self._make_lost_error() from error
        for worker, there in found.items():
            if not isinstance(there, OSError):  # a worker that has just left
                check_versions(f"The Dask worker at {worker}", there)
                self._checked.add(worker)

    def _list_workers(self, options: dict[str, Any]) -> set[str]:
        scheduler = self.client.scheduler
        return {*self.client.sync(scheduler.ncores, **options)} if scheduler else set()

    def _fetch_versions(self, options: dict[str, Any]) -> Any:
        """Return the scheduler's package versions by name, or the error that it raised."""
        try:
            return self.client.run_on_scheduler(get_installed_versions, **options)
        except OSError:
            raise
        except Exception as error:
            return error

    def send(self, function: Callable[..., Any], job: Any, control: JobControl, *more: Any) -> Future[Any]:
        """Send a job to a worker, which calls `function(job, control, …)`; return the future of the result."""
        key = f"normviz-{uuid4().hex}"
        there = DaskControl(self.client.id, key)
        with self._lock:
            if self._is_closed:
                raise self._make_lost_error()
            task = self.client.submit(function, job, there, *more, key=key, pure=False)
            sent = self._sent[key] = SentJob(control, Future(), task)
        task.add_done_callback(partial(self._fetch_outcome, key))
        return sent.future

    def close(self, wait: bool) -> None:
        """Close the connection, with `wait` only after all jobs have ended, otherwise at once."""
        if wait:
            futures.wait([sent.future for sent in [*self._sent.values()]])
        self._is_closed = True
        self._thread.join()

    def _handle_event(self, event: tuple[float, Any]) -> None:
        """Handle an event that the scheduler forwarded: the progress of a job, or a message of Dask itself."""
        _, message = event
        if isinstance(message, tuple):
            self._news.put(partial(self._report_progress, *message))

    def _report_progress(self, key: str, share: float, result: Any) -> None:
        """Report to a job's control that a worker has begun the job, or its finished share and partial result."""
        sent = self._sent.get(key)
        if sent is None:
            return
        if not sent.future.running():
            sent.future.set_running_or_notify_cancel()
        if result is not None:
            sent.control.report_progress(share, result)

    def _fetch_outcome(self, key: str, task: "distributed.Future") -> None:
        """Fetch the result or error of an ended task in a thread of Dask, and set it in the sender's future."""
        try:
            ended = partial(self._set_outcome, key, task.result())
        except Exception as error:
            ended = partial(self._set_outcome, key, None, error)
        self._news.put(ended)

    def _set_outcome(self, key: str, result: Any, error: Exception | None = None) -> None:
        """Set the error of a job, or else its result, in the future that the sender holds."""
        sent = self._sent.pop(key, None)
        if sent is None:
            return
        if error is None or sent.control.should_stop():
            sent.future.set_result(result)
        else:
            sent.future.set_exception(self._make_error_readable(error))

    def _forward_messages(self) -> None:
        """Forward progress reports and cancellations until the connection is lost; then fail all open jobs."""
        while not self.is_lost:
            try:
                self._news.get(timeout=STOP_POLL_SECONDS)()
            except Empty:
                pass
            except Exception:
                logging.getLogger(__name__).exception("A report of a job could not be kept.")
            for sent in [*self._sent.values()]:
                if not sent.task.done() and sent.control.should_stop():
                    sent.task.cancel()
        with self._lock:
            self._is_closed = True
        for key in [*self._sent]:
            self._set_outcome(key, None, self._make_lost_error())
        self.client.close()

    def _make_error_readable(self, error: Exception) -> Exception:
        """Return a lost connection or worker as InvalidInput with a readable message, any other error unchanged."""
        from distributed import KilledWorker

        if isinstance(error, CancelledError):
            return self._make_lost_error()
        if isinstance(error, KilledWorker):
            return InvalidInput(
                f"{error.allowed_failures + 1} workers of the Dask cluster died while they ran this job, the last at "
                f"{error.last_worker.address}. Their memory may be too small for it."
            )
        return error

    def _make_lost_error(self) -> InvalidInput:
        return InvalidInput(
            f"The Dask scheduler at {self.address} has gone, or was restarted; start the job again when it is there, "
            f"or name another one in {DASK_VARIABLE}."
        )


class Cluster(Executor):
    """Executor that runs jobs on a Dask cluster, with the interface of `ProcessExecutor`.

    It connects to the scheduler's address for the first job, and again after the connection was lost. Raises
    InvalidInput if this is no address, or Dask is not installed.
    """

    def __init__(self, address: str) -> None:
        _parse_endpoint(address)
        if find_spec("distributed") is None:
            raise InvalidInput(
                f"{DASK_VARIABLE} is {address}, and Dask is not installed: pip install 'normviz[cluster]'."
            )
        self.address = address
        self._connection: SchedulerConnection | None = None
        self._lock, self._shut = Lock(), False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a job to the cluster; return the future of the function's result."""
        with self._lock:
            if self._shut:
                raise RuntimeError("no job is taken after shutdown")
            if self._connection is None or self._connection.is_lost:
                self._connection = SchedulerConnection(self.address)
            self._connection.check_versions()
            return self._connection.send(function, *arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Close the connection, by default once all jobs have ended."""
        with self._lock:
            self._shut = True
        if self._connection is not None:
            self._connection.close(wait and not cancel_futures)


def _parse_endpoint(address: str) -> tuple[str, int]:
    """Split a scheduler's address into host and port. Raises InvalidInput for a text that is no address."""
    try:
        parts = urlsplit(address)
        if parts.scheme in ("tcp", "tls") and parts.hostname and parts.port:
            return parts.hostname, parts.port
    except ValueError:  # an invalid port
        pass
    raise InvalidInput(
        f"{DASK_VARIABLE} is {address!r}, which is no address of a Dask scheduler; tcp://host:8786 would be one."
    )


def _connect_client(address: str) -> "distributed.Client":
    """Connect to a scheduler and return Dask's client. Raises InvalidInput if none answers."""
    from distributed import Client

    try:
        socket.create_connection(_parse_endpoint(address), timeout=ANSWER_TIMEOUT).close()
    except OSError as error:
        raise InvalidInput(
            f"No Dask scheduler listens at {address} ({error}); start one with `dask scheduler`, or name another in "
            f"{DASK_VARIABLE}."
        ) from error
    try:
        asyncio.run(_check_scheduler(address))
        return Client(address, timeout=ANSWER_TIMEOUT, set_as_default=False, name="normviz")
    except OSError as error:
        raise InvalidInput(f"What listens at {address} does not answer as a Dask scheduler does.") from error


async def _check_scheduler(address: str) -> None:
    """Raise OSError if no scheduler answers; a client would wait for it without end."""
    from distributed import Security
    from distributed.comm import connect

    arguments = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=ANSWER_TIMEOUT, **arguments), ANSWER_TIMEOUT)
    comm.abort()
