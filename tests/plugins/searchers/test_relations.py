"""Searchers on data with relations between features: on 90 % of the box no row is feasible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Handles, Kind, Searcher, TrainingFold
from cfbench.registry.registry import build_registry
from cfbench.space import FloatArray
from cfbench_searchers.cma_es import CmaEs
from cfbench_searchers.cogs import Cogs
from cfbench_searchers.nearest_unlike import NearestUnlike
from cfbench_searchers.random_search import RandomSearch
from cfbench_searchers.sparse_sweep.searcher import SparseSweep
from tests.plugins.searchers.problems import SpiedProblem, answer_of, rng

SPACE = FeatureSpace(
    (
        FeatureSpec("a", Kind.NUMERICAL, 0, 1),
        FeatureSpec("b", Kind.NUMERICAL, 0, 1),
        FeatureSpec("c", Kind.NUMERICAL, 0, 100),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("none", "low", "mid", "high")),
    ),
    [
        "a + b <= 0.447",  # a tenth of the plane of a and b
        {"if": {"job": ["mid", "high"]}, "then": {"c": ">= 90"}},
        {"feature": "job", "from": "low", "to": ["none"]},
    ],
)
X = np.array([0.05, 0.39, 20.0, 1.0])


def above(Z: FloatArray) -> Any:
    """Give the target class to rows that break the inequality unless `b` is lowered, too."""
    return Z[:, 0] > 0.3


def of_job(Z: FloatArray) -> Any:
    """Give the target class to the forbidden job, and to jobs that need a large `c`."""
    return Z[:, 3] != 1


CHEAPEST = {
    # a from 0.05 to 0.3, b from 0.39 to 0.147: two changed features of four.
    above: 0.5 * (0.25 + 0.243) / 4 + 0.5 * 2 / 4,
    # c from 20 to 90, and another job.
    of_job: 0.5 * (0.7 + 1) / 4 + 0.5 * 2 / 4,
}
SEARCHERS = [
    (Cogs(population_size=200, n_generations=60), 0.01),
    (SparseSweep(n_rows=5000), 0.01),
    # It ends with `a` and `b` next to their values in x: two more changed features of four cost 0.25.
    (CmaEs(n_rows=6000, population_size=50), 0.26),
    (RandomSearch(n_rows=6000), 0.03),
]


def training() -> TrainingFold:
    X = SPACE.lower + rng(1).random((2000, 4)) * (SPACE.upper - SPACE.lower)
    X[:, 3] = np.rint(X[:, 3])
    return TrainingFold(X, np.zeros(len(X), dtype=np.int64))


def problem(classify: Any, x: FloatArray = X, **options: Any) -> SpiedProblem:
    return SpiedProblem(SPACE, x, classify, constraints=True, training=training(), **options)


def test_the_relations_exclude_nine_tenths_of_the_box() -> None:
    made = problem(above)
    assert made.is_feasible(made.box.sample(20_000, rng())).mean() < 0.1


@pytest.mark.parametrize("classify", [above, of_job])
@pytest.mark.parametrize(("searcher", "tolerance"), SEARCHERS)
def test_the_cheapest_feasible_row_is_found(searcher: Searcher, tolerance: float, classify: Any) -> None:
    made = problem(classify)
    z = answer_of(searcher, made)
    assert made.is_feasible(z[np.newaxis])[0]
    assert classify(z[np.newaxis])[0]
    assert CHEAPEST[classify] - 1e-9 <= made.distance(z[np.newaxis])[0] < CHEAPEST[classify] + tolerance


def test_the_nearest_unlike_row_keeps_the_relations() -> None:
    made = problem(above)
    z = answer_of(NearestUnlike(), made)
    X = training().X
    kept = X[(X[:, 0] + X[:, 1] <= 0.447) & ((X[:, 3] < 2) | (X[:, 2] >= 90)) & (X[:, 3] != 0) & (X[:, 0] > 0.3)]
    assert z.tolist() == kept[np.argmin(made.distance(kept))].tolist()


@pytest.mark.parametrize("respect_steps", [False, True])
@pytest.mark.parametrize("searcher", [*(each for each, _ in SEARCHERS), NearestUnlike()])
def test_every_queried_row_is_feasible_also_where_x_is_not(searcher: Searcher, respect_steps: bool) -> None:
    made = problem(above, np.array([0.25, 0.9, 20.0, 2.0]), respect_steps=respect_steps)
    assert not made.is_feasible(made.x[np.newaxis])[0]
    z = answer_of(searcher, made)
    assert made.is_feasible(z[np.newaxis])[0]
    for rows in made.asked:
        assert made.is_feasible(rows).all()


@pytest.mark.parametrize("searcher", [*(each for each, _ in SEARCHERS)])
def test_a_term_with_draws_leaves_the_relations_kept(searcher: Searcher) -> None:
    draws = rng(5)
    made = problem(
        above,
        max_queries=20_000,
        term=lambda Z, classes: draws.random(len(Z)) * 0.1,
        term_rows=0,
        term_draws=64,
    )
    z = searcher.search(made, rng())
    assert isinstance(z, np.ndarray)
    assert made.is_feasible(z[np.newaxis])[0]


def test_who_declares_relations_and_constraints() -> None:
    entries = [registered.entry for registered in build_registry().searchers.values()]
    assert {entry.name for entry in entries if Handles.RELATIONS in entry.handles} == {
        "cma-es",
        "cogs",
        "gradient-descent",
        "nearest-unlike",
        "random-search",
        "sparse-sweep",
    }
