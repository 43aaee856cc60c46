"""How this process handles signals, put back around plugins, so that a run can always be stopped cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any


def signal_state() -> dict[str, Any]:
    """Return how this process handles every signal, which signals it holds back, and whether its alarm clock runs."""
    state: dict[str, Any] = {name: signal.getsignal(n) for n, name in _catchable()}
    if hasattr(signal, "pthread_sigmask"):
        state["the blocked signals"] = frozenset(signal.pthread_sigmask(signal.SIG_BLOCK, []))
    if hasattr(signal, "getitimer"):
        state["the alarm clock"] = signal.getitimer(signal.ITIMER_REAL)[0] > 0
    return state


def put_back(before: Mapping[str, Any]) -> tuple[str, ...]:
    """Restore the handlers of `before`, and name all that had changed. To be called in the main thread."""
    changed = tuple(name for name, state in signal_state().items() if state != before[name])
    for n, name in _catchable() if changed else ():
        if name in changed and before[name] is not None:  # None: set from outside Python, which cannot be put back
            signal.signal(n, before[name])
    return changed


@contextmanager
def guarded_signals() -> Iterator[None]:
    """Put signal handlers back after a plugin; in another thread than the main one nobody can set any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal_state()
    try:
        yield
    finally:
        put_back(before)


@cache
def _catchable() -> tuple[tuple[int, str], ...]:
    """Return number and name of the signals that have a name and may be handled."""
    never = {getattr(signal, name, None) for name in ("SIGKILL", "SIGSTOP")}
    named = {int(member): member.name for member in signal.Signals}
    return tuple(sorted((int(n), named[int(n)]) for n in signal.valid_signals() if n not in never and int(n) in named))
