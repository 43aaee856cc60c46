"""The random forest's oracle against scikit-learn's own classifier, in CPU time, on fold 0; identity on many rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from cfbench.problem import Oracle
from cfbench.problem.oracle import predict_neighbours
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray
from cfbench_models.forest.oracle import TreeByTree
from measuring.cpu import cpu_seconds
from measuring.figures import Figure, report
from measuring.fitted_folds import DATASETS, FittedFold, fitted_fold
from measuring.searches import population, searched

IDENTITY_ROWS = 1_000_000
GENERATIONS_WITH_K = 30
"""CoGS with the objective `k` on scikit-learn takes two minutes otherwise."""

SPLITS = {"credit": (2, "sqrt"), "recidivism": (8, "all"), "income": (8, "sqrt"), "wine": (2, "sqrt")}
"""The tuned settings of the data sets' fold 0, the number of trees aside."""

Goals = tuple[float, float]
COGS: dict[str, Goals] = {"credit": (6, 10), "recidivism": (6, 10), "income": (5, 7)}
SCORE: dict[str, Goals] = {"credit": (25, 35), "recidivism": (14, 20), "income": (6, 10)}
COGS_WITH_K: dict[str, Goals] = {"credit": (12, 20), "recidivism": (9, 12), "income": (6, 8)}


def rows_per_query(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure questions of rows drawn uniformly, of which no question had any before: the memo is of no use."""
    goals: dict[int, Goals] = {1: (50, 200), 1_000: (5, 6)}
    tree_by_tree = TreeByTree(of.model)
    for n in (1, 100, 1_000, 10_000, 64_000):
        Z = of.rows(n)
        plain, ours = _seconds(of.plain, Z), _seconds_of_fresh_rows(of, n)
        yield Figure(f"a question of {n:,} rows", name, plain / ours, "x", *goals.get(n, (None, None)))
        if n in (1, 1_000):
            yield Figure("  without numba", name, plain / _seconds(tree_by_tree, Z))
        if n == 1_000:
            yield Figure("  rows a second", name, n / ours, "/s")
            visits = node_visits(of, Z)
            yield Figure("  a node visit of a row, scikit-learn", name, 1e9 * plain / visits, "ns")
            yield Figure("  a node visit of a row, the oracle", name, 1e9 * ours / visits, "ns")


def _seconds(oracle: Oracle, Z: FloatArray) -> float:
    return cpu_seconds(lambda: oracle.predict(Z), least=2)


def _seconds_of_fresh_rows(of: FittedFold, n: int) -> float:
    """Ask other rows in every round; small questions several times a round, each about other rows."""
    at_once = max(1, 200 // n)
    best = float("inf")
    for repetition in range(1, 6):
        parts = np.split(of.rows(n * at_once, seed=n + repetition), at_once)
        start = time.process_time()
        for Z in parts:
            of.oracle.predict(Z)
        best = min(best, (time.process_time() - start) / at_once)
    return best


def node_visits(of: FittedFold, Z: FloatArray) -> int:
    """Count the nodes on the ways of all rows through all trees."""
    indicator, _ = of.model.classifier.decision_path(of.model.encoding.transform(Z))
    return int(indicator.nnz)


def neighbours(of: FittedFold, name: str, goals: Goals) -> Iterator[Figure]:
    """Measure the 64 neighbours of each of 1,000 candidates, with draws of their own.

    Those of a population that CoGS has after 30 generations, and of one that is drawn.
    """
    populations = {"population of CoGS": population(of, GENERATIONS_WITH_K), "kept by 80 %": of.rows(1_000, kept=0.8)}
    for kind, Z in populations.items():
        plain, ours = _seconds_of_neighbours(of, Z)
        yield Figure(f"K-score, m = 64, {kind}", name, plain / ours, "x", *goals)
        yield Figure("  neighbours a second", name, 64 * len(Z) / ours, "/s")


def _seconds_of_neighbours(of: FittedFold, Z: FloatArray) -> tuple[float, float]:
    """Return scikit-learn's time, draws in numpy included, and the oracle's."""
    asked = KNeighbours(of.dataset.space, of.factual(), 5, 64)
    same = np.array_equal(predict_neighbours(of.plain, Z, asked), predict_neighbours(of.oracle, Z, asked))
    assert same, "the neighbours' classes differ"
    plain = cpu_seconds(lambda: predict_neighbours(of.plain, Z, asked), least=2)
    return plain, cpu_seconds(lambda: predict_neighbours(of.oracle, Z, asked))


def cogs(of: FittedFold, name: str, goals: Goals) -> Iterator[Figure]:
    """Measure CoGS from end to end."""
    plain, ours = searched(of, of.plain, "cogs", repeats=1), searched(of, of.oracle, "cogs")
    assert plain.found_as(ours), "the oracle changed what CoGS finds"
    yield Figure("CoGS", name, plain.total / ours.total, "x", *goals)
    yield Figure("  oracle alone", name, plain.in_oracle / ours.in_oracle)
    yield Figure("  share outside the oracle", name, 100 * (1 - ours.in_oracle / ours.total), "%", 30, 15)
    yield Figure("  seconds a search", name, ours.total, "s")


def cogs_with_k(of: FittedFold, name: str, goals: Goals) -> Iterator[Figure]:
    """Measure CoGS with the objective `k`."""
    plain = searched(of, of.plain, "cogs", "k", repeats=1, n_generations=GENERATIONS_WITH_K)
    ours = searched(of, of.oracle, "cogs", "k", n_generations=GENERATIONS_WITH_K)
    assert plain.found_as(ours), "the oracle changed what CoGS finds"
    yield Figure(f"CoGS with k, {GENERATIONS_WITH_K} generations", name, plain.total / ours.total, "x", *goals)


def other_searchers(of: FittedFold, name: str) -> Iterator[Figure]:
    """Measure searchers that ask a row, or a few, at a time."""
    for searcher in ("nelder-mead", "lore"):
        plain, ours = searched(of, of.plain, searcher, repeats=1), searched(of, of.oracle, searcher)
        assert plain.found_as(ours), f"the oracle changed what {searcher} finds"
        yield Figure(searcher, name, plain.total / ours.total)
        yield Figure("  oracle alone", name, plain.in_oracle / ours.in_oracle)


def identity(of: FittedFold, name: str) -> Figure:
    """Count the rows of a million that get another class from the oracle than from scikit-learn."""
    different = 0
    for seed in range(IDENTITY_ROWS // 50_000):
        Z = of.rows(50_000, kept=(seed % 4) / 4, seed=seed)
        different += int((of.oracle.predict(Z) != of.plain.predict(Z)).sum())
    return Figure(f"rows of {IDENTITY_ROWS:,} that differ", name, different, "", 0.0)


def forest(dataset: str, trees: int) -> FittedFold:
    """Return a forest of fold 0."""
    split, features = SPLITS[dataset]
    return fitted_fold(dataset, "random-forest", n_estimators=trees, min_samples_split=split, max_features=features)


def figures(names: list[str]) -> Iterator[Figure]:
    """Measure everything."""
    for dataset in names:
        of, name = forest(dataset, 500), f"{dataset}, 500 trees"
        yield from rows_per_query(of, name)
        yield from neighbours(of, name, SCORE[dataset])
        yield from cogs(of, name, COGS[dataset])
        yield from cogs_with_k(of, name, COGS_WITH_K[dataset])
        yield from other_searchers(of, name)
        yield from cogs(forest(dataset, 50), f"{dataset}, 50 trees", (4, 8))
    for dataset in [*names, "wine"]:  # wine has three classes
        for trees in (50, 500):
            yield identity(forest(dataset, trees), f"{dataset}, {trees} trees")


if __name__ == "__main__":
    with threadpool_limits(1):
        report("forest", figures(sys.argv[1:] or [*DATASETS]))
