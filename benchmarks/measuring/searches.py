"""Searches as a study runs them, on the oracle of one's choice, and exact searches; with the time that they take."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cfbench import ObjectiveContext, Problem, TrainingFold
from cfbench.problem import Oracle
from cfbench.problem.distances import FastCandidateMeasure
from cfbench.problem.oracle import Meter, predict_neighbours
from cfbench.problem.problem import trace_of
from cfbench.registry import SearchFunction
from cfbench.registry.registry import build_registry
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray, IntArray
from measuring.fitted_folds import FittedFold


@dataclass
class Watched:
    """An oracle that adds up the CPU time of its answers."""

    oracle: Oracle
    seconds: float = field(default=0.0, init=False)

    def predict(self, Z: FloatArray) -> IntArray:
        """Ask for classes."""
        start = time.process_time()
        classes = self.oracle.predict(Z)
        self.seconds += time.process_time() - start
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Ask for probabilities."""
        return self.oracle.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Ask for the classes of neighbours, in the oracle's own way where it has one."""
        start = time.process_time()
        classes = predict_neighbours(self.oracle, Z, neighbours)
        self.seconds += time.process_time() - start
        return classes


@dataclass(frozen=True, eq=False)
class Spent:
    """CPU seconds of a search, those inside the oracle among them, and what it found."""

    total: float
    in_oracle: float
    z: FloatArray | None

    def found_as(self, other: Spent) -> bool:
        """Whether another search found the same."""
        return self.z is other.z or (self.z is not None and other.z is not None and np.array_equal(self.z, other.z))


def searched(
    fitted_fold: FittedFold, oracle: Oracle, searcher: str, objective: str = "none", repeats: int = 3, **settings: Any
) -> Spent:
    """Search for the first eligible point; the quickest of some equal runs."""
    registry = build_registry()
    entry = registry.searcher(searcher).entry
    searcher_of: Any = entry.searcher
    term_of = registry.objective(objective).entry.objective()
    runs = []
    for _ in range(repeats):
        watched = Watched(oracle)
        space = fitted_fold.dataset.space
        meter = Meter(watched, space.d)
        context = ObjectiveContext(
            x=fitted_fold.factual(),
            target=fitted_fold.dataset.target,
            space=space,
            predict=meter.predict_for_objective,
            stream=5,
            query_neighbours=meter.predict_neighbours_for_objective,
        )
        training = TrainingFold(
            fitted_fold.dataset.X[fitted_fold.fold.train], fitted_fold.dataset.y[fitted_fold.fold.train]
        )
        problem = Problem(
            context.x,
            context.target,
            space,
            meter,
            term=term_of.bind(context),
            needs=[*entry.needs, *entry.can_use],
            training=training,
            measure=FastCandidateMeasure,
        )
        start = time.process_time()
        z = searcher_of(**settings).search(problem, np.random.default_rng(1))
        runs.append(Spent(time.process_time() - start, watched.seconds, z))
    return min(runs, key=lambda run: run.total)


def population(fitted_fold: FittedFold, generations: int) -> FloatArray:
    """Return the last population that CoGS asks about, shape (1000, d)."""
    asked: list[FloatArray] = []

    class Kept(Watched):
        def predict(self, Z: FloatArray) -> IntArray:
            asked.append(Z)
            return super().predict(Z)

    searched(fitted_fold, Kept(fitted_fold.oracle), "cogs", repeats=1, n_generations=generations)
    return asked[-1]


class ExactResult(NamedTuple):
    """What an exact searcher finds, whether that is proven, its lower bound, and the CPU seconds it took."""

    z: FloatArray | None
    proven: bool
    lower_bound: float
    seconds: float


def exact_result(search: SearchFunction, problem: Problem) -> ExactResult:
    """Run a search of an exact searcher."""
    start = time.process_time()
    z = search(problem, np.random.default_rng(0))
    seconds = time.process_time() - start
    assert z is None or isinstance(z, np.ndarray)
    figures = trace_of(problem).figures
    return ExactResult(z, figures["proven"] == 1, figures.get("lower_bound", np.inf), seconds)
