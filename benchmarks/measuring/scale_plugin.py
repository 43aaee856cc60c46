"""A plugin for measuring the harness alone: a small table, a model that costs nothing, searchers of known length."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cfbench import (
    Dataset,
    DatasetEntry,
    DataSource,
    FeatureSpace,
    FeatureSpec,
    Handles,
    Kind,
    ModelEntry,
    ModelFamily,
    Problem,
    Searcher,
    SearcherEntry,
    hookimpl,
)
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray

FIRST_SEARCH = "CFBENCH_FIRST_SEARCH"
"""Environment variable that names a file: the first search writes into it what time it is, and its CPU time so far."""

SPACE = FeatureSpace(tuple(FeatureSpec(f"f{i}", Kind.NUMERICAL, 0, 1) for i in range(10)))


class Half:
    """Class 1 where the first feature is above one half."""

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the classes."""
        return np.asarray(Z[:, 0] > 0.5, dtype=np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return certainty."""
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self) -> str:
        """Return what never changes."""
        return "0" * 32

    def oracle(self) -> Oracle:
        """Return the model itself."""
        return self


class Halves(ModelFamily):
    """Has nothing to fit; `number` only makes variants."""

    number: int = 0

    def grid(self) -> dict[str, list[Any]]:
        """Leave one choice."""
        return {"half": [0.5]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:  # noqa: ARG002
        """Choose it."""
        return {"half": 0.5}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Half:  # noqa: ARG002
        """Return the one model."""
        return Half()


class Step(Searcher):
    """Steps over the boundary, after so many rounds of arithmetic; `number` only makes variants."""

    rounds: int = 0
    number: int = 0

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Return the nearest counterfactual."""
        note = os.environ.get(FIRST_SEARCH)
        if note and not Path(note).exists():
            Path(note).write_text(f"{time.time()} {time.process_time()}", encoding="ascii")
        matrix = rng.random((64, 64))
        for _ in range(self.rounds):
            matrix = np.tanh(matrix @ matrix)
        z = problem.x.copy()
        z[0] = 0.6
        problem.loss(z[np.newaxis])
        return z


def load(source: DataSource) -> Dataset:  # noqa: ARG001 - it is made here
    """Make a thousand rows under a fixed seed."""
    X = np.random.default_rng(0).random((1000, SPACE.d))
    return Dataset("halves", X, (X[:, 0] > 0.5).astype(np.int64), SPACE, 1, ("low", "high"))


@hookimpl
def cfbench_register_datasets() -> Iterator[DatasetEntry]:
    """Register the table."""
    yield DatasetEntry(name="halves", load=load)


@hookimpl
def cfbench_register_models() -> Iterator[ModelEntry]:
    """Register the model."""
    yield ModelEntry(name="half", family=Halves)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    """Register the searcher."""
    yield SearcherEntry(name="step", searcher=Step, handles=list(Handles))
