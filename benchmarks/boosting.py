"""The oracle of boosted ensembles compared with the library's own predict on the same rows, in CPU time, on fold 0."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench.problem import Oracle
from cfbench.space import FloatArray
from measuring.figures import Figure, report
from measuring.fitted_folds import FittedFold, fitted_fold

DATASETS = ("credit", "income", "wine")

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "HGB, 100": ("gradient-boosting", {"max_iter": 100, "max_leaf_nodes": 31}),
    "HGB, 300": ("gradient-boosting", {"max_iter": 300, "max_leaf_nodes": 31}),
    "LightGBM, 300": ("lightgbm", {"n_estimators": 300, "num_leaves": 31}),
    "XGBoost, 300": ("xgboost", {"n_estimators": 300, "max_depth": 6}),
    "CatBoost, 300": ("catboost", {"iterations": 300, "depth": 6}),
}

GOALS: dict[str, dict[int, float]] = {
    "HGB": {1: 80, 100: 24, 1_000: 18},
    "LightGBM": {1: 45, 100: 25, 1_000: 50},
    "XGBoost": {1: 25, 100: 7, 1_000: 12},
}

ROUNDS = 7
"""Each round has new rows, so that no row was answered before."""

KEPT = 0.5
"""Share of the features that rows have in common with a factual point, as the rows of a search do."""


def queries(of: FittedFold, name: str, library: str) -> Iterator[Figure]:
    """Measure queries of 1, 100 and 1,000 rows; the medians of several rounds."""
    for n in (1, 100, 1_000):
        ours, theirs = [], []
        for seed in range(ROUNDS + 1):
            parts = np.split(of.rows(n * _calls(n), kept=KEPT, seed=1_000 * n + seed), _calls(n))
            theirs.append(_seconds(of.plain, parts))
            ours.append(_seconds(of.oracle, parts))
        Z = np.concatenate(parts)
        assert np.array_equal(of.oracle.predict(Z), of.model.predict(Z)), "the oracle gives other classes"
        ratio, microseconds = median(theirs[1:]) / median(ours[1:]), 1e6 * median(ours[1:])
        yield Figure(f"a query of {n:,} rows", name, ratio, "x", GOALS.get(library, {}).get(n))
        yield Figure("  the oracle", name, microseconds, "us")


def _calls(n: int) -> int:
    """Return how many queries of `n` rows are made in a round."""
    return max(2, 200 // n)


def _seconds(oracle: Oracle, parts: list[FloatArray]) -> float:
    """Return the CPU seconds of a query."""
    start = time.process_time()
    for Z in parts:
        oracle.predict(Z)
    return (time.process_time() - start) / len(parts)


def figures(names: list[str]) -> Iterator[Figure]:
    """Measure each library on each data set."""
    for dataset in names:
        for label, (family, settings) in MODELS.items():
            of = fitted_fold(dataset, family, learning_rate=0.1, **settings)
            yield from queries(of, f"{dataset}, {label} trees", label.split(",")[0])


if __name__ == "__main__":
    with threadpool_limits(1):
        report("boosting", figures(sys.argv[1:] or [*DATASETS]))
