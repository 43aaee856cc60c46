"""Ctrl-C: the write in hand is finished, then the run stops; a second Ctrl-C stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Holds interrupting signals back, except where the run is only waiting.

    Used as a context manager in the main thread; in any other thread, and for signals that the program ignores, it
    changes nothing.

    Attributes
    ----------
    requested : bool
        Whether a signal came.
    """

    def __init__(self) -> None:
        self.requested = False
        self._open = False
        self._before: dict[signal.Signals, Any] = {}

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

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Mark a place where nothing is half done: a signal raises KeyboardInterrupt there."""
        if self.requested:
            raise KeyboardInterrupt
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the form of a signal handler
        again = self.requested
        self.requested = True
        if self._open or again:
            raise KeyboardInterrupt


def was_asked_for() -> bool:
    """Whether a KeyboardInterrupt that has come out of a plugin may be the user's; otherwise the plugin made it up."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.SIG_IGN:
        return False
    holder = getattr(handler, "__self__", None)
    return holder.requested if isinstance(holder, Interrupt) else True
