"""Executors of this machine: jobs run in this process, or in spawned worker processes (pebble).

Each slot of an executor is one worker that keeps what it has loaded. A job past its time limit is killed with its
worker, and only its own search is lost. A worker ends with the process that started it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import SimpleNamespace
from typing import Any, Protocol

import pebble
import pebble.pool.process
from threadpoolctl import threadpool_limits

from cfbench.errors import CfbenchError
from cfbench.running.interrupt import noticed_threads, unseen_by_children, was_asked_for
from cfbench.running.search import ran_out_of_memory
from cfbench.running.worker import Worker, WorkerSetup

ORPHANED = 71
"""Exit code of a worker whose parent is gone; nobody but the system sees it."""

_SET_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux's prctl: the signal that a process gets when its parent ends."""


def end_with_parent() -> None:
    """Have this process killed when the one that started it ends; nothing happens in a process of its own.

    Linux's kernel does it, in the middle of compiled code, too. Elsewhere a thread waits for the parent's end, which a
    search that never gives up the interpreter can hold up.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    if not _kernel_kills():
        threading.Thread(target=_end_after, args=[parent], name="waits for the parent's end", daemon=True).start()
    elif wait([parent.sentinel], timeout=0):  # it ended before the kernel was asked
        os._exit(ORPHANED)


def _kernel_kills() -> bool:
    if sys.platform != "linux":
        return False
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return prctl is not None and prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0) == 0


def _end_after(parent: BaseProcess) -> None:
    wait([parent.sentinel])
    os._exit(ORPHANED)


def hold_limits_to_a_steady_clock() -> None:
    """Have pebble, which asks for the time of day, measure its jobs by the monotonic clock instead."""
    vars(pebble.pool.process)["time"] = SimpleNamespace(time=time.monotonic, sleep=time.sleep)


THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read by numerical libraries when they are loaded. A worker has one thread: more would fight over the cores, and
change the last bits of sums."""


@dataclass(frozen=True)
class Job:
    """One call of a worker's method.

    Parameters
    ----------
    method : str
        Name of a method of Worker.
    arguments : tuple
        Picklable.
    time_limit : float or None
        Wall-clock seconds after which the worker is killed; None: no limit.
    """

    method: str
    arguments: tuple[Any, ...]
    time_limit: float | None = None


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

    Parameters
    ----------
    worker : Worker
    until_closed : bool
        Whether numerical libraries keep to one thread between jobs, too: to hold and to release them takes as long as
        a short search. Whoever asks for that has to close the executor.
    """

    blocks = True
    slots = 1

    def __init__(self, worker: Worker, *, until_closed: bool = False) -> None:
        self._worker = worker
        self._until_closed = until_closed
        self._held = ExitStack()
        self._holds = False

    def submit(self, slot: int, job: Job) -> Future[Any]:  # noqa: ARG002 - there is one slot
        """Run `job` now and return its ended future."""
        future: Future[Any] = Future()
        try:
            if self._until_closed and not self._holds:
                self._held.enter_context(_one_thread())
                self._holds = True
            with nullcontext() if self._holds else _one_thread(), noticed_threads():
                future.set_result(getattr(self._worker, job.method)(*job.arguments))
        except BaseException as error:  # a plugin's exit costs its own cell
            if isinstance(error, KeyboardInterrupt) and was_asked_for():
                raise
            future.set_exception(error)
        return future

    def close(self) -> None:
        """Give the libraries their threads back; nothing is left running."""
        self._held.close()
        self._holds = False


class ProcessExecutor:
    """Runs jobs in spawned processes, one pool of one worker a slot, so that a slot's worker is known.

    Parameters
    ----------
    setup : WorkerSetup
    slots : int
    """

    blocks = False

    def __init__(self, setup: WorkerSetup, slots: int) -> None:
        self.slots = slots
        self._setup = setup
        hold_limits_to_a_steady_clock()
        self._environment = _ask_for_one_thread()  # inherited by every worker, the restarted ones too
        self._pools = [self._pool() for _ in range(slots)]
        self._running: set[Future[Any]] = set()

    def submit(self, slot: int, job: Job) -> Future[Any]:
        """Start `job` on a slot's worker."""
        with unseen_by_children():  # the first job starts the worker, and the thread that starts all later ones
            inner = self._pools[slot].schedule(_perform, args=[job.method, job.arguments], timeout=job.time_limit)
        outer: Future[Any] = Future()
        self._running.add(outer)
        outer.add_done_callback(self._running.discard)

        def translate(ended: Future[Any]) -> None:
            error = ended.exception()
            if isinstance(error, pebble.ProcessExpired):
                outer.set_exception(WorkerDied(_obituary(error)))
            elif isinstance(error, BrokenProcessPool):
                outer.set_exception(CfbenchError(_STILLBORN))
            elif error is not None:
                outer.set_exception(error)
            else:
                outer.set_result(ended.result())

        inner.add_done_callback(translate)
        return outer

    def close(self) -> None:
        """Kill all workers and wait until they are gone."""
        for pool in self._pools:
            pool.stop()
        for pool in self._pools:
            pool.join()
        for future in list(self._running):  # of these the pools say nothing, and somebody may wait for them
            future.set_exception(WorkerDied("its executor was closed"))
        _restore(self._environment)

    def _pool(self) -> Any:
        return pebble.ProcessPool(
            max_workers=1, context=get_context("spawn"), initializer=_start_worker, initargs=[self._setup]
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold numerical libraries in this process to one thread: those that are loaded, and those that a job loads first.

    The latter stay at one thread when the job is over. scikit-learn's, which nearly every first job loads, are loaded
    here, so that they get their threads back.
    """
    import sklearn  # noqa: F401 - for the libraries that come with it

    environment = _ask_for_one_thread()
    try:
        with threadpool_limits(1):
            yield
    finally:
        _restore(environment)


def _ask_for_one_thread() -> dict[str, str | None]:
    """Set the variables and return what they were."""
    environment = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    return environment


def _restore(environment: dict[str, str | None]) -> None:
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


QUIET_EXIT = 70
"""Exit code of a worker that a plugin has ended with code 0."""

OUT_OF_MEMORY = 72
"""Exit code of a worker that could have no more memory: what fills it may be left from another search."""

_worker: Worker | CfbenchError | None = None
"""The worker of a spawned process, or why there is none; there is one a process, and none in the main one."""


def _start_worker(setup: WorkerSetup) -> None:
    """Make the spawned process's worker; the terminal's Ctrl-C is for the main process alone."""
    global _worker  # noqa: PLW0603 - pebble hands a process's state to its jobs in no other way
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave = os._exit
    # The pool takes a worker that ends with code 0 for one that was told to end, and waits for its answer for ever.
    os._exit = lambda status: leave(status or QUIET_EXIT)
    try:
        _worker = Worker(setup)
    except CfbenchError as error:  # a plugin that is not here: the first job says so
        _worker = error
    threadpool_limits(1)


def _perform(method: str, arguments: tuple[Any, ...]) -> Any:
    if isinstance(_worker, CfbenchError):
        raise _worker
    assert _worker is not None
    try:
        result = getattr(_worker, method)(*arguments)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    if method == "search_all" and any(map(ran_out_of_memory, result)):
        os._exit(OUT_OF_MEMORY)
    return result


def _obituary(error: Any) -> str:
    code = getattr(error, "exitcode", None)
    if isinstance(code, int) and code < 0:
        try:
            return f"its process was killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"its process was killed by signal {-code}"
    if code == OUT_OF_MEMORY:
        return "its process could have no more memory"
    return f"its process ended with exit code {code}"
