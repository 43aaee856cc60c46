"""Executors of this machine: jobs run in this process, or in spawned worker processes.

Each slot of an executor is one worker that keeps what it has loaded. A job past its time limit is killed with its
worker, and only its own search is lost. A worker ends with the process that started it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from multiprocessing.connection import Connection
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from cfbench.errors import CfbenchError
from cfbench.running.crashes import ran_out_of_memory
from cfbench.running.executors.child import ONE_THREAD, ChildProcess, environment
from cfbench.running.interrupt import noticed_threads, was_asked_for
from cfbench.running.preparation import preparation_lost, prepare_limit
from cfbench.running.search import guarded_signals
from cfbench.running.warned import Counted, counted_warnings
from cfbench.running.worker import Worker, WorkerSetup
from cfbench.study.plan import Cell

WORKER_NAME = "cfbench worker"
"""Name of the processes that perform jobs."""


@dataclass(frozen=True)
class Job:
    """One call of a worker's method.

    The worker is killed after `time_limit` wall-clock seconds; None: no limit. If `prepares` names a cell, the same
    worker prepares the searches of that cell before, under a limit of their own. With `counted`, the result is a
    Counted, which has the warnings of the job and of this preparation.
    """

    method: str
    arguments: tuple[Any, ...]
    time_limit: float | None = None
    prepares: Cell | None = None
    counted: bool = False


class Executor(Protocol):
    """Runs jobs, each on a slot: one job at a time."""

    blocks: bool
    """Whether `submit` returns only when the job has ended."""

    @property
    def slots(self) -> int:
        """How many there are; it may grow."""
        ...

    def submit(self, slot: int, job: Job) -> Future[Any]:
        """Start `job` on an idle slot.

        The future ends with the method's result, with the exception that it raised, with TimeoutError past the limit,
        with WorkerDied, or with ExecutorLost.
        """
        ...

    def close(self) -> None:
        """Stop all workers at once; what they were doing is lost."""
        ...


_STILLBORN = (
    "no worker process can start; what each said is shown above. In a script, whatever runs a study stands under "
    'if __name__ == "__main__":, since workers import the script'
)


class WorkerDied(Exception):
    """A worker's process ended in the middle of a job."""


class ExecutorLost(CfbenchError):
    """No job can be run any more: the workers cannot be reached, or must not be used."""


class SerialExecutor:
    """Runs jobs in this process, one after the other; it knows no time limit.

    From the first job until the executor is closed, numerical libraries keep to one thread: to hold and to release them
    takes as long as a short search.
    """

    blocks = True
    slots = 1

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._threads: ExitStack | None = None

    def submit(self, slot: int, job: Job) -> Future[Any]:  # noqa: ARG002 - there is one slot
        """Run `job` now and return its ended future."""
        future: Future[Any] = Future()
        try:
            if self._threads is None:
                self._threads = ExitStack()
                self._threads.enter_context(_one_thread())
            with noticed_threads(), guarded_signals():
                future.set_result(_result(self._worker, job.method, job.arguments, counted=job.counted))
        except BaseException as error:  # a plugin's exit costs its own cell
            if isinstance(error, KeyboardInterrupt) and was_asked_for():
                raise
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Give the libraries their threads back; nothing is left running."""
        if self._threads is not None:
            self._threads.close()
        self._threads = None


class WorkerProcess(ChildProcess):
    """A spawned process with a worker, which performs one job at a time."""

    def __init__(self, setup: WorkerSetup) -> None:
        super().__init__(_serve, (setup,), name=WORKER_NAME)
        self._is_ready = False

    def perform(self, job: Job) -> Any:
        """Return the result of a job, after the preparation that it needs.

        Raises TimeoutError past the job's limit, WorkerDied, or PreparationLost if either happens in the preparation:
        the process is gone then. Raises CfbenchError if the worker raised anything, or no worker can start.
        """
        before = None
        if job.prepares is not None:
            preparation = Job("prepare_searches", (job.prepares,), prepare_limit(job.prepares), counted=job.counted)
            try:
                before = self.perform(preparation)
            except (TimeoutError, WorkerDied) as error:
                raise preparation_lost(job.prepares, error) from error
        try:
            if not self._is_ready:
                self.receive(None)
                self._is_ready = True
            self.send((job.method, job.arguments, job.counted))
            kind, value = self.receive(job.time_limit)
        except TimeoutError:
            self.end()
            raise
        except (EOFError, OSError):
            self.end()
            raise WorkerDied(self.death_reason()) if self._is_ready else CfbenchError(_STILLBORN) from None
        if kind is _Answer.OUT_OF_MEMORY:  # what fills it may be left from another search
            self.end()
            raise WorkerDied("its process could have no more memory")
        if kind is _Answer.ERROR:
            raise value
        if isinstance(before, Counted):
            return Counted(value.value, before.warnings + value.warnings)
        return value


class ProcessExecutor:
    """Runs jobs in spawned processes, one per slot, so that a slot's worker is known."""

    blocks = False

    def __init__(self, setup: WorkerSetup, slots: int) -> None:
        self.slots = slots
        self._setup = setup
        self._environment = ExitStack()
        self._environment.enter_context(environment(ONE_THREAD))  # every worker inherits it, restarted ones too
        self._workers: list[WorkerProcess | None] = [None] * slots
        self._busy = [threading.Lock() for _ in range(slots)]
        self._starting = threading.Lock()
        self._closed = False

    def submit(self, slot: int, job: Job) -> Future[Any]:
        """Start `job` on a slot's worker, after the jobs that it has."""
        future: Future[Any] = Future()
        threading.Thread(target=self._perform, args=(slot, job, future), name=f"slot {slot}", daemon=True).start()
        return future

    def close(self) -> None:
        """Kill all workers and wait until they are gone."""
        with self._starting:
            self._closed = True
        for worker in self._workers:
            if worker is not None:
                worker.end()
        self._environment.close()

    def _perform(self, slot: int, job: Job, future: Future[Any]) -> None:
        try:
            with self._busy[slot]:
                result = self._worker(slot).perform(job)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _worker(self, slot: int) -> WorkerProcess:
        """Return the slot's worker, a new one if the last one is gone."""
        with self._starting:
            if self._closed:
                raise WorkerDied("its executor was closed")
            worker = self._workers[slot]
            if worker is None or not worker.is_alive():
                worker = self._workers[slot] = WorkerProcess(self._setup)
        return worker


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold numerical libraries in this process to one thread: those that are loaded, and those that a job loads first.

    The latter stay at one thread when the job is over. scikit-learn's, which nearly every first job loads, are loaded
    here, so that they get their threads back.
    """
    import sklearn  # noqa: F401 - for the libraries that come with it

    with environment(ONE_THREAD), threadpool_limits(1):
        yield


class _Answer(Enum):
    """What a worker's process says of a job."""

    RESULT = auto()
    ERROR = auto()
    OUT_OF_MEMORY = auto()


def _serve(pipe: Connection, setup: WorkerSetup) -> None:
    """Be a worker's process: say that it is ready, then answer one job after the other until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the main process alone
    threading.Thread(target=_end_with_parent, name="waits for the parent's end", daemon=True).start()
    worker: Worker | CfbenchError
    try:
        worker = Worker(setup)
    except CfbenchError as error:  # a plugin that is not here: the first job says so
        worker = error
    threadpool_limits(1)
    pipe.send(None)
    while True:
        try:
            method, arguments, counted = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(worker, method, arguments, counted=counted))


def _end_with_parent() -> None:
    """Kill this process when the one that started it ends, which a search in compiled code can hold up."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGKILL)


def _result(worker: Worker, method: str, arguments: tuple[Any, ...], *, counted: bool) -> Any:
    """Return what a worker's method returns, with the warnings that it raised if they are counted."""
    if not counted:
        return getattr(worker, method)(*arguments)
    with counted_warnings() as counts:
        value = getattr(worker, method)(*arguments)
    return Counted(value, counts)


def _answer(
    worker: Worker | CfbenchError, method: str, arguments: tuple[Any, ...], *, counted: bool
) -> tuple[_Answer, Any]:
    if isinstance(worker, CfbenchError):
        return _Answer.ERROR, worker
    try:
        with guarded_signals():
            result = _result(worker, method, arguments, counted=counted)
    except MemoryError:
        return _Answer.OUT_OF_MEMORY, None
    except CfbenchError as error:
        return _Answer.ERROR, error
    except BaseException as error:  # a plugin's own class may not be known to the main process
        return _Answer.ERROR, CfbenchError(f"{type(error).__name__}: {error}")
    batch = result.value if counted else result
    if method == "search_all" and any(map(ran_out_of_memory, batch.rows)):
        return _Answer.OUT_OF_MEMORY, None
    return _Answer.RESULT, result
