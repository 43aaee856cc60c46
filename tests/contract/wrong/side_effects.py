"""Forbidden side effects: random numbers from elsewhere, changed problems, queries past the meter, prints, signals."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

from cfbench import Best, BudgetExhausted, Problem, SearcherEntry, hookimpl
from cfbench.registry.discovery import import_file
from cfbench.space import FloatArray

if TYPE_CHECKING:
    from tests.contract.wrong import honest as start
else:
    start = import_file(Path(__file__).with_name("honest.py"))

candidates = start.candidates
honest = start.honest
wrong = start.wrong


def ignores_rng(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng())


def draws_from_numpy(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng(np.random.randint(1000)))  # noqa: NPY002 - the fault


def draws_from_python(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    return honest(problem, np.random.default_rng(random.randint(0, 1000)))


def writes_into_x(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    problem.x[0] = 1.0
    return None


def forces_its_way_into_x(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem.x.setflags(write=True)
    problem.x[0] += 1e-3
    return z


def widens_the_space(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem.space.upper.setflags(write=True)
    problem.space.upper[0] += 1e-3
    return z


def frees_a_feature(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    problem.space.features[0].constraint = "none"  # type: ignore[misc, assignment] # the fault
    return None


def moves_the_target(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    z = honest(problem, rng)
    problem._target = 0
    return z


def bypasses_the_meter(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    Z = candidates(problem, rng)
    hits = Z[problem._meter._oracle.predict(Z) == problem.target]
    best = Best(problem)
    best.evaluate(hits)
    return best.choose()


def prints(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    print("looking around")
    return honest(problem, rng)


def prints_past_python(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    os.write(1, b"looking around\n")
    return honest(problem, rng)


def _shrug(number: int, frame: FrameType | None) -> None:
    """Handle a signal by doing nothing."""


def eats_signals(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    signal.signal(signal.SIGTERM, _shrug)
    return honest(problem, rng)


def swallows_ctrl_c(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    try:
        return honest(problem, rng)
    except BudgetExhausted:
        return None
    except:  # noqa: E722 - the fault
        return None


def takes_training_data(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    case: FloatArray = problem.training.X[0]
    return case


WRONG = (
    wrong(ignores_rng, "same-rng-same-answer"),
    wrong(draws_from_numpy, "global-generators-untouched"),
    wrong(draws_from_python, "global-generators-untouched"),
    wrong(writes_into_x, "problem-not-mutated", "crashed"),
    wrong(forces_its_way_into_x, "problem-not-mutated"),
    wrong(widens_the_space, "problem-not-mutated"),
    wrong(frees_a_feature, "problem-not-mutated", "crashed"),
    wrong(moves_the_target, "problem-not-mutated"),
    wrong(bypasses_the_meter, "meter-not-bypassed", status="invalid"),
    wrong(prints, "prints-nothing"),
    wrong(prints_past_python, "prints-nothing"),
    wrong(eats_signals, "signals-left-alone"),
    wrong(swallows_ctrl_c, "interrupts-pass"),
    wrong(takes_training_data, "asks-only-for-what-it-declares", "crashed"),
)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield from (one.entry for one in WRONG)
