"""The neural network's oracle against scikit-learn's own classifier, in CPU time, on fold 0; identity on many rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench.problem.oracle import predict_neighbours
from cfbench.robustness import KNeighbours
from measuring.cpu import cpu_seconds
from measuring.figures import Figure, report
from measuring.fitted_folds import DATASETS, FittedFold, fitted_fold
from measuring.searches import population, searched

IDENTITY_ROWS = 1_000_000
GENERATIONS_WITH_K = 30
"""CoGS with the objective `k` on scikit-learn takes a minute otherwise."""


def rows_per_query(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure questions of one row to 64,000."""
    goals = {1: (20.0, None), 1_000: (1.8, None)}
    for n in (1, 100, 1_000, 10_000, 64_000):
        Z = of.rows(n)
        plain, ours = cpu_seconds(of.plain.predict, Z), cpu_seconds(of.oracle.predict, Z)
        yield Figure(f"a question of {n:,} rows", name, plain / ours, "x", *goals.get(n, (None, None)))
        if n == 1_000:
            pipeline = plain - cpu_seconds(of.model.encoding.transform, Z)
            pipeline += cpu_seconds(column_transformer(of).transform, Z)
            yield Figure("  against a ColumnTransformer's encoding", name, pipeline / ours)


def column_transformer(of: FittedFold) -> Any:
    """Return scikit-learn's own way to the network's columns, fitted."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    space = of.dataset.space
    one_hot = [part.feature for part in of.model.encoding.one_hot]
    steps = [
        ("numbers", StandardScaler(), list(np.flatnonzero(~space.is_categorical))),
        ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), one_hot),
    ]
    return ColumnTransformer(steps, remainder="passthrough").fit(of.dataset.X[of.fold.train])


def neighbours(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure the 64 neighbours of each of 1,000 candidates, with draws of their own.

    Those of a population that CoGS has after 30 generations, and of one that is drawn.
    """
    populations = {"population of CoGS": population(of, GENERATIONS_WITH_K), "kept by 80 %": of.rows(1_000, kept=0.8)}
    asked = KNeighbours(of.dataset.space, of.factual(), 5, 64)
    for kind, Z in populations.items():
        plain = cpu_seconds(predict_neighbours, of.plain, Z, asked, least=2)
        ours = cpu_seconds(predict_neighbours, of.oracle, Z, asked)
        same = np.array_equal(predict_neighbours(of.plain, Z, asked), predict_neighbours(of.oracle, Z, asked))
        assert same, "the neighbours' classes differ"
        yield Figure(f"K-score, m = 64, {kind}", name, plain / ours)
        yield Figure("  neighbours a second", name, 64 * len(Z) / ours, "/s")


def cogs(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure CoGS from end to end, without and with the objective `k`."""
    runs: list[tuple[str, str, dict[str, int], int, tuple[float, float]]] = [
        ("CoGS", "none", {}, 3, (3, 5)),
        (f"CoGS with k, {GENERATIONS_WITH_K} generations", "k", {"n_generations": GENERATIONS_WITH_K}, 1, (3, 10)),
    ]
    for label, objective, settings, repeats, goals in runs:
        plain = searched(of, of.plain, "cogs", objective, repeats, **settings)
        ours = searched(of, of.oracle, "cogs", objective, **settings)
        assert plain.found_as(ours), "the oracle changed what CoGS finds"
        yield Figure(label, name, plain.total / ours.total, "x", *goals)
        yield Figure("  oracle alone", name, plain.in_oracle / ours.in_oracle)
        yield Figure("  share outside the oracle", name, 100 * (1 - ours.in_oracle / ours.total), "%")
        yield Figure("  seconds a search", name, ours.total, "s")


def identity(of: FittedFold, name: str) -> Figure:
    """Count the rows of a million that get another class from the oracle than from scikit-learn."""
    different = 0
    for seed in range(IDENTITY_ROWS // 50_000):
        Z = of.rows(50_000, kept=(seed % 4) / 4, seed=seed)
        different += int((of.oracle.predict(Z) != of.plain.predict(Z)).sum())
    return Figure(f"rows of {IDENTITY_ROWS:,} that differ", name, different, "", 0.0)


def figures(names: list[str]) -> Iterator[Figure]:
    """Measure everything."""
    for dataset in names:
        of, name = fitted_fold(dataset, "neural-network"), f"{dataset}, network"
        yield from rows_per_query(of, name)
        yield from neighbours(of, name)
        yield from cogs(of, name)
        yield identity(of, name)


if __name__ == "__main__":
    with threadpool_limits(1):
        report("network", figures(sys.argv[1:] or [*DATASETS, "wine"]))
