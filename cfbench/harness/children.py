"""Processes that this one starts: what a terminal sends is not for them, and they end with this one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker, util

_OF_TERMINALS = {getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)}

_TIDYING = 1.0
"""Seconds that a process which ends at once gives to what the system does not tidy."""

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


def end_at_once(farewell: str, code: int) -> None:
    """Say something on stderr and end this process with its children, in the middle of whatever it does.

    Parameters
    ----------
    farewell : str
    code : int
        The process's exit code.
    """
    try:
        tidying = threading.Thread(target=_free_semaphores, daemon=True)
        tidying.start()  # what it needs may be held by what this process was in the middle of
        tidying.join(_TIDYING)
        for process in multiprocessing.active_children():
            process.kill()
    finally:
        with suppress(OSError):  # nobody reads it any more
            os.write(2, f"{_CURSOR if os.isatty(2) else ''}{farewell}\n".encode(errors="backslashreplace"))
        os._exit(code)


def _free_semaphores() -> None:
    """Free what processes share: who watches over it would complain on the terminal that nobody did.

    multiprocessing does it at a regular end, under no public name.
    """
    util._run_finalizers(0)  # type: ignore[attr-defined]
