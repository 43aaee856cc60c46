"""A plugin for tests: a small data set, a model that is known in closed form, searchers good and bad.

The model puts a case into class 1 exactly where ``size + 0.5 * [colour = 2] > 10``, so every answer can be worked out
by hand. It is registered by its file's path, as a user's own plugin is, so that spawned workers find it, too.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cfbench import (
    Constraint,
    CounterfactualSet,
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
from cfbench.digests import digest_of
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 20, constraint=Constraint.ONLY_UP),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98, step=1),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue")),
    )
)


def load(source: DataSource) -> Dataset:
    """Make 60 rows under a fixed seed, labelled by the model's own rule but for a few."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 20, 60), rng.integers(18, 99, 60), rng.integers(0, 3, 60)]).astype(np.float64)
    y = rule(X)
    y[::15] = 1 - y[::15]
    return Dataset(name="toy", X=X, y=y, space=SPACE, target=1, class_labels=("small", "large"))


def rule(Z: FloatArray) -> IntArray:
    """The toy model: class 1 where size + 0.5 [colour = blue] > 10."""
    large: IntArray = np.asarray(Z[:, 0] + 0.5 * (Z[:, 2] == 2) > 10, dtype=np.int64)
    return large


class ToyModel:
    """Knows the rule; its fingerprint is the threshold's."""

    def __init__(self, shift: float) -> None:
        self.shift = shift

    def predict(self, Z: FloatArray) -> IntArray:
        return rule(Z - np.array([self.shift, 0, 0]))

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        one = self.predict(Z).astype(np.float64)
        return np.column_stack([1 - one, one])

    def fingerprint(self) -> str:
        return digest_of(["toy", self.shift])

    def oracle(self) -> Oracle:
        return self


class TurnsCoat:
    """Answers as the model until it is asked exactly 1,000 rows at once, which no self-check does; not from then on."""

    def __init__(self, shift: float) -> None:
        self.honest, self.lying = ToyModel(shift), ToyModel(shift - 5)
        self.turned = False

    def predict(self, Z: FloatArray) -> IntArray:
        self.turned |= len(Z) == 1_000
        return (self.lying if self.turned else self.honest).predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return self.honest.predict_proba(Z)


class Lying(ToyModel):
    """Its oracle turns its coat."""

    def oracle(self) -> Oracle:
        return TurnsCoat(self.shift)


DEADLY = 0.05
"""Share of the searches of `die_at_last` that end their process."""


class Threshold(ModelFamily):
    """The rule, moved by `shift`."""

    shift: float = 0.0
    lies: bool = False

    def grid(self) -> dict[str, list[Any]]:
        return {"shift": [self.shift]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        return {"shift": self.shift}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> ToyModel:
        return (Lying if self.lies else ToyModel)(hyperparameters["shift"])


class Dice(Searcher):
    """Asks random rows in batches and returns the best: random, honest, quick."""

    rows: int = 200

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        lower, upper = problem.bounds()
        best, best_loss = None, 1.0
        for _ in range(4):
            Z = rng.uniform(lower, upper, (self.rows // 4, problem.space.d))
            categorical = problem.space.is_categorical
            Z[:, categorical] = np.floor(Z[:, categorical] + 0.5)
            keep = rng.random(Z.shape) < 0.5
            Z = np.where(keep, problem.x, Z)
            losses = problem.loss(Z)
            if losses.min() < best_loss:
                best, best_loss = Z[losses.argmin()], float(losses.min())
        problem.report("best-seen", best_loss)
        return best


def crash(problem: Problem, rng: np.random.Generator) -> None:
    raise ValueError("cannot think today")


def leave(problem: Problem, rng: np.random.Generator) -> None:
    raise SystemExit(3)


def hang(problem: Problem, rng: np.random.Generator) -> None:
    threading.Event().wait()


def hang_deaf(problem: Problem, rng: np.random.Generator) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Event().wait()


def die(problem: Problem, rng: np.random.Generator) -> None:
    os._exit(7)


def die_quietly(problem: Problem, rng: np.random.Generator) -> None:
    os._exit(0)


def die_at_last(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Return a good row, but for one search in twenty, which ends the process."""
    if rng.random() < DEADLY:
        os._exit(7)
    z = problem.x.copy()
    z[0] = 12.0
    return z


def give_up(problem: Problem, rng: np.random.Generator) -> None:
    raise GeneratorExit


def wander(problem: Problem, rng: np.random.Generator) -> None:
    os.chdir("/")


def segfault(problem: Problem, rng: np.random.Generator) -> None:
    ctypes.string_at(0)


def talk(problem: Problem, rng: np.random.Generator) -> None:
    print("thinking aloud")


def both(problem: Problem, rng: np.random.Generator) -> CounterfactualSet:
    """A set: x itself, a good row, a better one, one outside."""
    Z = np.tile(problem.x, (4, 1))
    Z[1, 0], Z[2, 0], Z[3, 0] = 20.0, 11.0, 99.0
    return CounterfactualSet(Z)


@hookimpl
def cfbench_register_datasets() -> Iterator[DatasetEntry]:
    yield DatasetEntry(name="toy", load=load)


@hookimpl
def cfbench_register_models() -> Iterator[ModelEntry]:
    yield ModelEntry(name="threshold", family=Threshold)


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    every = (Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES)
    yield SearcherEntry(name="toy-dice", searcher=Dice, handles=every)
    yield SearcherEntry(name="toy-both", searcher=both, handles=every, returns_sets=True)
    for function in (crash, leave, give_up, wander, hang, hang_deaf, die, die_quietly, die_at_last, segfault, talk):
        yield SearcherEntry(name=f"toy-{function.__name__.replace('_', '-')}", searcher=function, handles=every)
