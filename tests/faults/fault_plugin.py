"""A plugin for tests: searchers that do what nobody should, and what waits at a gate until the test opens it."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cfbench import FeatureSpace, Handles, ModelEntry, ModelFamily, Problem, SearcherEntry, hookimpl
from cfbench.digests import digest_of
from cfbench.problem import Oracle
from cfbench.registry import CellFinished
from cfbench.space import FloatArray, IntArray

_hoard: list[FloatArray] = []


def honest(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = 12.0 + rng.random()
    return z


def takes_its_time(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Answer as `honest` does, after a time in which a clock that jumps would have passed any limit."""
    threading.Event().wait(0.7)
    return honest(problem, rng)


def waits(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Wait where the gate is closed, and answer as `honest` does."""
    wait_at_the_gate("search")
    return honest(problem, rng)


def wait_at_the_gate(what: str) -> None:
    """Where the gate is closed for `what`, say this process's number and wait until it opens."""
    gate = Path(os.environ["CFBENCH_TEST_GATE"])
    if (gate / f"closed-for-{what}").exists():
        with (gate / "arrived").open("w") as arrived:
            print(os.getpid(), file=arrived)
        with (gate / "open").open() as opened:
            opened.read(1)


def asks_for_too_much_memory(problem: Problem, rng: np.random.Generator) -> FloatArray:
    while True:
        _hoard.append(np.empty(2**24))  # 128 megabytes that nobody touches, and what was had stays


def forks_and_returns_twice(problem: Problem, rng: np.random.Generator) -> FloatArray:
    os.fork()
    return honest(problem, rng)


def forks_and_raises_twice(problem: Problem, rng: np.random.Generator) -> FloatArray:
    if os.fork() == 0:
        sys.exit(0)
    return honest(problem, rng)


def floods_standard_output(problem: Problem, rng: np.random.Generator) -> FloatArray:
    line = "thinking aloud " * 64 + "\n"
    for _ in range(4096):
        print(line, end="")
    for _ in range(4096):
        os.write(1, line.encode())
    return honest(problem, rng)


def fills_its_temporary_folder(problem: Problem, rng: np.random.Generator) -> FloatArray:
    with tempfile.NamedTemporaryFile("wb", delete=False) as file:
        while True:
            file.write(bytes(2**16))


def raises_keyboard_interrupt(problem: Problem, rng: np.random.Generator) -> None:
    raise KeyboardInterrupt("as if somebody had asked for it")


def raises_system_exit(problem: Problem, rng: np.random.Generator) -> None:
    raise SystemExit("I have seen enough")


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    every = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
    for function in (
        honest,
        takes_its_time,
        waits,
        asks_for_too_much_memory,
        forks_and_returns_twice,
        forks_and_raises_twice,
        floods_standard_output,
        fills_its_temporary_folder,
        raises_keyboard_interrupt,
        raises_system_exit,
    ):
        yield SearcherEntry(name=function.__name__.replace("_", "-"), searcher=function, handles=every)


class SlowToFit(ModelFamily):
    """The rule of the toy model; its fitting waits at the gate."""

    def grid(self) -> dict[str, list[Any]]:
        return {"shift": [0.0]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        return {"shift": 0.0}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Any:
        wait_at_the_gate("fit")
        return Rule()


class Rule:
    """Class 1 where size > 10."""

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] > 10).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        one = self.predict(Z).astype(np.float64)
        return np.column_stack([1 - one, one])

    def fingerprint(self) -> str:
        return digest_of("size > 10")

    def oracle(self) -> Oracle:
        return self


@hookimpl
def cfbench_register_models() -> Iterator[ModelEntry]:
    yield ModelEntry(name="slow-to-fit", family=SlowToFit)


@hookimpl
def cfbench_cell_finished(event: CellFinished) -> None:
    """A reporter that waits at the gate."""
    wait_at_the_gate("report")
