from __future__ import annotations

import signal
import threading
from types import FrameType

import pytest

from cfbench.running.search import guarded_signals, put_back, signal_state


def shrug(number: int, frame: FrameType | None) -> None:
    """Do nothing."""


def fails_after_changing_a_handler() -> None:
    with guarded_signals():
        signal.signal(signal.SIGTERM, shrug)
        raise ValueError("inside")


def test_handlers_are_put_back_whatever_happens_inside() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="inside"):
        fails_after_changing_a_handler()
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_changed_is_named() -> None:
    before = signal_state()
    signal.signal(signal.SIGUSR1, shrug)
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        assert put_back(before) == ("SIGUSR1", "the alarm clock")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert signal_state() == before
    assert put_back(before) == ()


def test_in_another_thread_nothing_is_done() -> None:
    seen: list[bool] = []

    def work() -> None:
        with guarded_signals():
            seen.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True]
