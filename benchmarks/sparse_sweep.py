"""sparse-sweep against what is known: linear models, very many features, and CoGS on the fitted models of fold 0.

``python benchmarks/sparse_sweep.py [POINTS [REPETITIONS]]``: 5 points a cell and CoGS twice by default, some minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Problem, TrainingFold
from cfbench.problem.oracle import Meter
from cfbench.registry.registry import build_registry
from cfbench.running.judge import Judge
from cfbench.space import FloatArray, IntArray
from measuring.figures import Figure, report
from measuring.fitted_folds import DATASETS, FittedFold, fitted_fold

LINEAR_MODELS, WIDE = 60, 1000


class Asked:
    """A model made of a rule."""

    def __init__(self, rule: Callable[[FloatArray], NDArray[np.bool_]]) -> None:
        self._rule = rule

    def predict(self, Z: FloatArray) -> IntArray:
        """Ask the rule."""
        return self._rule(Z).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer nothing."""
        raise NotImplementedError


def cube(d: int) -> FeatureSpace:
    """Return a space of numbers between 0 and 1."""
    return FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, 1) for i in range(d)))


def searched(problem: Problem, searcher: str, seed: int) -> FloatArray | None:
    """Return what a searcher finds with its default settings."""
    made = build_registry().searcher(searcher).entry.searcher
    assert isinstance(made, type)
    answer = made().search(problem, np.random.default_rng(seed))
    assert answer is None or isinstance(answer, np.ndarray)
    return answer


def _passes(weights: FloatArray, cut: float, Z: FloatArray) -> NDArray[np.bool_]:
    passes: NDArray[np.bool_] = cut < Z @ weights
    return passes


def linear_optimum(weights: FloatArray, missing: float, room: FloatArray) -> float:
    """Return the least cost of gaining `missing`: of every set of features, those of most weight go first."""
    d, best = len(weights), np.inf
    for size in range(1, d + 1):
        for features in combinations(range(d), size):
            left, cost = missing, 0.5 * size / d
            for i in sorted(features, key=lambda i: -abs(weights[i])):
                move = min(float(room[i]), max(left, 0.0) / abs(weights[i]))
                left, cost = left - move * abs(weights[i]), cost + 0.5 * move / d
            best = min(best, cost) if left <= 1e-12 else best
    return float(best)


def linear_models() -> Iterator[Figure]:
    """Measure the gap to the optimum of linear models with 8 features, every other one with training rows."""
    gaps, rows = [], []
    for seed in range(LINEAR_MODELS):
        draws = np.random.default_rng(seed)
        weights, x = draws.normal(size=8) * draws.exponential(size=8), draws.random(8)
        room = np.where(weights > 0, 1 - x, x)
        missing = float((room * np.abs(weights)).sum() * draws.uniform(0.02, 0.9))
        model = Asked(partial(_passes, weights, float(x @ weights) + missing))
        X = draws.random((200, 8))
        training = TrainingFold(X, model.predict(X)) if seed % 2 else None
        meter = Meter(model, 8)
        problem = Problem(x, 1, cube(8), meter, needs=[Need.TRAINING_DATA], training=training)
        z = searched(problem, "sparse-sweep", seed)
        assert z is not None
        gaps.append(float(problem.distance(z[np.newaxis])[0]) / linear_optimum(weights, missing, room) - 1)
        rows.append(meter.search_queries)
    label = f"{LINEAR_MODELS} models"
    yield Figure("linear, 8 features: mean gap", label, 100 * float(np.mean(gaps)), "%", 0.1)
    yield Figure("  largest gap", label, 100 * max(gaps), "%")
    yield Figure("  rows in the median", label, float(np.median(rows)), "")


def wide() -> Iterator[Figure]:
    """Measure a linear model of 1,000 features, without training rows."""
    draws = np.random.default_rng(0)
    weights, x = draws.normal(size=WIDE), draws.random(WIDE)
    meter = Meter(Asked(lambda Z: x @ weights + 1.6 * np.abs(weights).max() < Z @ weights), WIDE)
    start = time.process_time()
    z = searched(Problem(x, 1, cube(WIDE), meter), "sparse-sweep", 0)
    seconds = time.process_time() - start
    assert z is not None
    yield Figure("linear, 1,000 features: features changed", "at most 3 wanted", int((z != x).sum()), "")
    yield Figure("  rows", "at most 101,000 wanted", meter.search_queries, "")
    yield Figure("  seconds", "at most 10 wanted", seconds, "s")


def best_value(
    of: FittedFold, x: FloatArray, searcher: str, repetitions: int, *, constraints: bool
) -> tuple[float, int]:
    """Return the judge's value of the best of several searches (infinite: nothing found), and the rows of the last."""
    judge = Judge(x, of.dataset.target, of.dataset.space, of.oracle, constraints, respect_steps=False)
    training = TrainingFold(of.dataset.X[of.fold.train], of.dataset.y[of.fold.train])
    best, rows = np.inf, 0
    for seed in range(repetitions):
        meter = Meter(of.oracle, of.dataset.space.d)
        problem = Problem(
            x,
            of.dataset.target,
            of.dataset.space,
            meter,
            constraints=constraints,
            needs=[Need.TRAINING_DATA],
            training=training,
        )
        value = judge.verdict(searched(problem, searcher, seed), returns_sets=False).objective_value
        best, rows = min(best, np.inf if value is None else value), meter.search_queries
    return best, rows


def against_cogs(of: FittedFold, name: str, points: int, repetitions: int) -> Iterator[Figure]:
    """Measure one search a point against the best of several runs of CoGS."""
    cases = of.eligible()[:points]
    for constraints in (False, True):
        ours = [best_value(of, x, "sparse-sweep", 1, constraints=constraints) for x in cases]
        theirs = [best_value(of, x, "cogs", repetitions, constraints=constraints)[0] for x in cases]
        both = [(a, b) for (a, _), b in zip(ours, theirs, strict=True) if np.isfinite(a) and np.isfinite(b)]
        differences = np.array([a / b - 1 for a, b in both])
        label = f"{name}, {'on' if constraints else 'off'}"
        missed = sum(not np.isfinite(a) and np.isfinite(b) for (a, _), b in zip(ours, theirs, strict=True))
        yield Figure(f"against CoGS: found by CoGS alone, of {len(cases)}", label, missed, "")
        yield Figure("  mean difference", label, 100 * float(differences.mean()), "%")
        yield Figure("  largest difference", label, 100 * float(differences.max()), "%", 1.0)
        yield Figure("  rows in the median", label, float(np.median([rows for _, rows in ours])), "")


def figures(points: int = 5, repetitions: int = 2) -> Iterator[Figure]:
    """Measure everything."""
    yield from linear_models()
    yield from wide()
    for dataset in (*DATASETS, "housing"):
        for model in ("random-forest", "neural-network"):
            yield from against_cogs(fitted_fold(dataset, model), f"{dataset}, {model}", points, repetitions)


if __name__ == "__main__":
    with threadpool_limits(1):
        report("sparse_sweep", figures(*(int(argument) for argument in sys.argv[1:])))
