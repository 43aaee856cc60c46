"""Threads that plugins leave running in this process. Python waits for them at its end, which may be for ever."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn
from weakref import WeakSet

_left: WeakSet[threading.Thread] = WeakSet()


@contextmanager
def noticed_threads() -> Iterator[None]:
    """Note which threads a plugin starts and does not end."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        _left.update(thread for thread in threading.enumerate() if thread not in before and not thread.daemon)


def stray_threads() -> list[str]:
    """Return the names of the noted threads that still run."""
    return sorted(thread.name for thread in _left if thread.is_alive())


def end_now(code: int) -> NoReturn:
    """End this process without waiting for any thread; what is registered to run at its end does run."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)
