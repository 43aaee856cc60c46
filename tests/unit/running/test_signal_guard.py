from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from cfbench import load_record
from cfbench.running.executors.local import Executor
from cfbench.running.search import guarded_signals, put_back, signal_state
from tests.toys.runs import Toys
from tests.toys.studies import TOY


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


def test_what_changed_is_named_and_put_back() -> None:
    before = signal_state()
    signal.signal(signal.SIGUSR1, shrug)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1000)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    assert put_back(before) == ("SIGUSR1", "the blocked signals", "the alarm clock")
    assert signal_state() == before
    assert put_back(before) == ()


def test_an_alarm_clock_that_ran_before_goes_on() -> None:
    signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with guarded_signals():
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL  # it may end the program, as its user decided
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 900
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_a_signal_that_was_blocked_arrives_afterwards_and_an_alarm_does_not() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        with guarded_signals():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM])
            signal.raise_signal(signal.SIGALRM)
            signal.raise_signal(signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_in_another_thread_handlers_stay_and_alarms_end() -> None:
    seen: list[bool] = []

    def work() -> None:
        with guarded_signals():
            signal.setitimer(signal.ITIMER_REAL, 1000)
        seen.append(signal.getitimer(signal.ITIMER_REAL)[0] > 0)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]


PLUGIN = """
import signal, time
from cfbench import Handles, SearcherEntry, hookimpl

def answer(problem):
    z = problem.x.copy()
    z[0] = 12.0
    return z

def leaves_alarms(problem, rng):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    signal.setitimer(signal.ITIMER_PROF, 0.05)
    return answer(problem)

def blocks_signals(problem, rng):
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    return answer(problem)

def rings(problem, rng):
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(5)

def slow(problem, rng):
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        pass
    return answer(problem)

@hookimpl
def cfbench_register_searchers():
    for function in (leaves_alarms, blocks_signals, rings, slow):
        yield SearcherEntry(
            name=function.__name__.replace("_", "-"),
            searcher=function,
            handles=[Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES],
        )
"""


@pytest.mark.parametrize(
    "executor",
    [pytest.param(Toys.serial, id="serial"), pytest.param(Toys.processes, id="in processes", marks=pytest.mark.slow)],
)
def test_alarms_and_blocked_signals_of_a_searcher_end_with_its_search(
    tmp_path: Path, executor: Callable[[Toys], Executor]
) -> None:
    (tmp_path / "alarms.py").write_text(PLUGIN)
    toys = Toys(tmp_path / "cache", TOY, tmp_path / "alarms.py", folds=(0,), repetitions=1)
    toys.run(
        tmp_path / "results",
        executor(toys),
        searchers=("leaves-alarms", "rings", "blocks-signals", "slow"),
    )
    frame = load_record(tmp_path / "results")
    found = {name: set(rows["status"]) for name, rows in frame.groupby("searcher")}
    assert found == {"leaves-alarms": {"found"}, "rings": {"crashed"}, "blocks-signals": {"found"}, "slow": {"found"}}
    reasons = frame.loc[frame["searcher"] == "rings", "reason"]
    words = "RuntimeError: SIGALRM came from an alarm clock that was set without a handler"
    assert reasons.str.startswith(words).all()


def test_a_process_can_be_ended_after_a_searcher_blocked_its_signals(tmp_path: Path) -> None:
    (tmp_path / "alarms.py").write_text(PLUGIN)
    toys = Toys(tmp_path / "cache", TOY, tmp_path / "alarms.py", folds=(0,), repetitions=1)
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
    try:
        toys.run(tmp_path / "results", searchers=("blocks-signals",))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
