"""Ctrl-C and other signals: the current work is finished, then the run stops; a second signal ends the command at once.

Handlers only take a note and wake the run. Child processes and threads that plugins leave behind end with it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from types import FrameType, TracebackType
from typing import Any
from weakref import WeakSet

_OF_TERMINALS = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}

_CURSOR = "\x1b[?25h"
"""Shows a terminal's cursor, which a live display hides."""


@contextmanager
def unseen_by_children() -> Iterator[None]:
    """Start processes that neither Ctrl-C nor a closing terminal reaches, from their first moment on.

    What a thread holds back, the processes and threads that it starts hold back as well. A signal that comes meanwhile
    reaches this process afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_TERMINALS)
    try:
        resource_tracker.ensure_running()  # otherwise the first process starts it, and to start it lets Ctrl-C through
        signal.pthread_sigmask(signal.SIG_BLOCK, _OF_TERMINALS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_left: WeakSet[threading.Thread] = WeakSet()


@contextmanager
def noticed_threads() -> Iterator[None]:
    """Note which threads a plugin starts and does not end."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        _left.update(thread for thread in threading.enumerate() if thread not in before and not thread.daemon)


def unfinished_threads() -> list[str]:
    """Return the names of the noted threads that still run."""
    return sorted(thread.name for thread in _left if thread.is_alive())


SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, what a scheduler or ``kill`` sends, and what a terminal sends when it is closed."""

EXIT_CODE = 130
"""Of a command that a signal has ended, as shells have it of Ctrl-C."""


class Interrupt:
    """Takes the signals of a run or of a command.

    Used as a context manager in the main thread; in any other thread, and for signals that the program ignores, it
    changes nothing. The second signal ends the process, or raises KeyboardInterrupt.

    The process ends with the text of `last_message` at the second signal; without one, KeyboardInterrupt is raised.
    `wake` ends the run's waiting; it is called from the handler, so it must be reentrant. `requested` says whether a
    signal came.
    """

    def __init__(self, last_message: Callable[[], str] | None = None, wake: Callable[[], None] = lambda: None) -> None:
        self.requested = False
        self._wake = wake
        self._last_message = last_message
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
        """Mark a job in this very process, which no other process can end: a signal raises KeyboardInterrupt in it."""
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
        if again and self._last_message is not None:
            _end(self._last_message())
        if (again or self._open) and not self._closing:
            self._open = False
            raise KeyboardInterrupt


def was_asked_for() -> bool:
    """Whether a KeyboardInterrupt that has come out of a plugin may be the user's; otherwise the plugin made it up."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.SIG_IGN:
        return False
    holder = getattr(handler, "__self__", None)
    return holder.requested if isinstance(holder, Interrupt) else True


def _end(last_message: str) -> None:
    """Say something on stderr and end this process with its children, in the middle of whatever it does.

    It ends as Ctrl-C ends a program that does not handle it; further signals change nothing.
    """
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    try:
        for process in multiprocessing.active_children():
            process.kill()
    finally:
        with suppress(OSError):  # standard error may be closed
            os.write(2, f"{_CURSOR if os.isatty(2) else ''}{last_message}\n".encode(errors="backslashreplace"))
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)
