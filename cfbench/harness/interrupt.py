"""Ctrl-C and its like: what is in hand is finished, then the run stops; a second one ends the command at once.

Handlers take note and wake; the run looks at the note where nothing is half done. An exception out of a handler would
hit the middle of whatever holds a lock. What ends at once needs no such care: a record is whole wherever its writer
dies.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from cfbench.harness.children import end_at_once

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, what a scheduler or ``kill`` sends, and what a terminal sends when it is closed."""

EXIT_CODE = 130
"""Of a command that a signal has ended, as shells have it of Ctrl-C."""


class Interrupt:
    """Takes the signals of a run.

    Used as a context manager in the main thread; in any other thread, and for signals that the program ignores, it
    changes nothing. The second signal ends the process, or raises KeyboardInterrupt.

    Parameters
    ----------
    wake : callable
        Ends the run's waiting; it is called from the handler, so that it must be reentrant.
    farewell : str
        What the process says as it ends at the second signal; empty: it does not end, KeyboardInterrupt is raised.

    Attributes
    ----------
    requested : bool
        Whether a signal came.
    """

    def __init__(self, wake: Callable[[], None], farewell: str = "") -> None:
        self.requested = False
        self._wake = wake
        self._farewell = farewell
        self._open = False
        self._closing = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Stop the run, where nothing is half done, if a signal came."""
        if self.requested:
            raise KeyboardInterrupt

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Mark a job in this very process, which nobody else can end: a signal raises KeyboardInterrupt in it."""
        self.check()
        self._open = True
        try:
            yield
        finally:
            self._open = False

    @contextmanager
    def closing(self) -> Iterator[None]:
        """Mark the end of the workers, which takes a moment and holds locks: no exception may come out of a signal."""
        self._closing = True
        try:
            yield
        finally:
            self._closing = False

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the form of a signal handler
        again, self.requested = self.requested, True
        self._wake()
        if again and self._farewell:
            _end(self._farewell)
        if (again or self._open) and not self._closing:
            self._open = False
            raise KeyboardInterrupt


@contextmanager
def interrupted_by_signals(farewell: Callable[[], str]) -> Iterator[None]:
    """Let the first signal raise KeyboardInterrupt in the block, and the second end the process at once.

    What is ignored stays ignored, on which nohup relies; outside of the main thread nothing changes.

    Parameters
    ----------
    farewell : callable
        Returns what is said at the second signal.
    """
    came = False

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the form of a signal handler
        nonlocal came
        if came:
            _end(farewell())
        came = True
        raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    taken = [number for number in SIGNALS if in_main and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def was_asked_for() -> bool:
    """Whether a KeyboardInterrupt that has come out of a plugin may be the user's; otherwise the plugin made it up."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.SIG_IGN:
        return False
    holder = getattr(handler, "__self__", None)
    return holder.requested if isinstance(holder, Interrupt) else True


def _end(farewell: str) -> None:
    """End the process at once; further signals change nothing."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    end_at_once(farewell, EXIT_CODE)
