"""A worker ends with the process that started it, however that one ends: nobody is left to take what it finds."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

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
