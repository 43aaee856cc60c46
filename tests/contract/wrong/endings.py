"""Wrong ends: searchers that hang, die, raise, ask on, never give up or never find anything."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cfbench import BudgetExhausted, Problem, SearcherEntry, hookimpl
from cfbench.registry.discovery import import_file
from cfbench.space import FloatArray

if TYPE_CHECKING:
    from tests.contract.wrong import honest as start
else:
    start = import_file(Path(__file__).with_name("honest.py"))

candidates = start.candidates
honest = start.honest
wrong = start.wrong


def never_returns(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    threading.Event().wait()
    return None


def deaf_and_never_returns(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Event().wait()
    return None


def exits(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    os._exit(7)


def segfaults(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    ctypes.string_at(0)
    return None


def raises(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    raise ValueError("cannot think today")


def asks_on_past_its_budget(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    while True:
        try:
            return honest(problem, rng)
        except BudgetExhausted:
            continue


def breaks_on_its_budget(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    try:
        return honest(problem, rng)
    except BudgetExhausted as error:
        raise RuntimeError("I was promised more rows") from error


def never_gives_up(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = honest(problem, rng)
    return candidates(problem, rng)[0] if z is None else z


def gives_up_at_once(problem: Problem, rng: np.random.Generator) -> None:
    return None


def depends_on_hashes(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    draws = np.random.default_rng(hash("a word") % 2**32)
    return honest(problem, draws)


WRONG = (
    wrong(never_returns, "returns-in-time", "timed_out"),
    wrong(deaf_and_never_returns, "returns-in-time", "timed_out"),
    wrong(exits, "process-survives", "crashed"),
    wrong(segfaults, "process-survives", "crashed"),
    wrong(raises, "raises-nothing", "crashed"),
    wrong(asks_on_past_its_budget, "survives-small-budgets"),
    wrong(breaks_on_its_budget, "survives-small-budgets"),
    wrong(never_gives_up, "gives-up"),
    wrong(gives_up_at_once, "finds-something", "not_found"),
    wrong(depends_on_hashes, "runs-in-a-spawned-process"),
)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield from (one.entry for one in WRONG)
