"""A process of its own with a pipe to it, and the environment in which it starts."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from typing import Any

from cfbench.running.interrupt import unseen_by_children

LOOK_AGAIN = 0.5
"""Seconds after which the wait for an answer checks whether the process lives."""

PATIENCE = 5.0
"""Seconds in which a process that has closed its pipe ends by itself; its exit code says why it did."""

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Read by numerical libraries when they are loaded. A worker has one thread: more would fight over the cores, and
change the last bits of sums."""

ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")


@contextmanager
def environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and restore them afterwards."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class ChildProcess:
    """A process that answers what it is sent.

    `target` is called there with its end of the pipe and `arguments`. A `daemon` ends with this process and may start
    none itself.
    """

    def __init__(
        self,
        target: Callable[..., None],
        arguments: tuple[Any, ...],
        *,
        method: str = "spawn",
        name: str | None = None,
        daemon: bool = False,
    ) -> None:
        context: Any = get_context(method)
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=target, args=(theirs, *arguments), name=name, daemon=daemon)
        with unseen_by_children():
            self._process.start()
        theirs.close()

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return bool(self._process.is_alive())

    def send(self, message: object) -> None:
        """Send what can be pickled; an OSError says that the process is gone."""
        self._pipe.send(message)

    def receive(self, time_limit: float | None) -> Any:
        """Return what the process sends next.

        Raises TimeoutError past the limit in seconds, and EOFError if the process has ended.
        """
        end = math.inf if time_limit is None else time.monotonic() + time_limit
        try:
            while not self._pipe.poll(max(0.0, min(LOOK_AGAIN, end - time.monotonic()))):
                if not self.is_alive():  # a copy of it that a searcher has forked can hold the pipe open
                    raise EOFError
                if time.monotonic() >= end:
                    raise TimeoutError
            return self._pipe.recv()
        except TimeoutError:
            raise
        except (EOFError, OSError) as error:
            self._process.join(PATIENCE)
            raise EOFError from error

    def end(self) -> None:
        """Kill the process and wait until it is gone."""
        self._process.kill()
        self._process.join()

    def death_reason(self) -> str:
        """Say how the process ended, after `receive` or `end`."""
        code = self._process.exitcode
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"its process was killed by {signal.Signals(-code).name}"
            return f"its process was killed by signal {-code}"
        return f"its process ended with exit code {code}"
