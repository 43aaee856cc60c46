from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from cfbench import (
    BudgetExhausted,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    Kind,
    Searcher,
    SearcherEntry,
    TrainingFold,
)
from cfbench.space import FloatArray
from cfbench_searchers.plugin import cfbench_register_searchers
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, categories, numbers, rng, searched

# Those that return sets have tests of their own.
# The model here shows no structure; white boxes have tests of their own.
ENTRIES = [entry for entry in cfbench_register_searchers() if not (entry.returns_sets or entry.is_white_box)]


SPACES = {
    "one number": numbers((-2, 5)),
    "one category": categories(4),
    "a single value": categories(1),
    "categories": categories(2, 6, 3),
    "tiny and huge": numbers((0, 1e-9), (-1e9, 1e9), (1e9, 1e9 + 1)),
    "all fixed": FeatureSpace(
        (
            FeatureSpec("n", Kind.NUMERICAL, 0, 1, constraint=Constraint.FIXED),
            FeatureSpec("c", Kind.CATEGORICAL, 0, 1, ("a", "b"), constraint=Constraint.FIXED),
        )
    ),
    "stepped": FeatureSpace(
        (
            FeatureSpec("n", Kind.NUMERICAL, 0.5, 8.5, step=1.0, constraint=Constraint.ONLY_UP),
            FeatureSpec("m", Kind.NUMERICAL, -9, 9, step=3.0),
        )
    ),
}


BETWEEN_CATEGORIES = ("growing-spheres", "growing-spheres-scaled", "nelder-mead")
"""They move categories as numbers, as in the paper, and round at the end."""


@pytest.mark.parametrize("side", ["lower", "upper"])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_asks_feasible_rows_and_returns_a_feasible_target_or_nothing(
    entry: SearcherEntry, space: FeatureSpace, side: str
) -> None:
    respect_steps = any(feature.step for feature in space.features)
    low, high = (space.lower, space.upper) if not respect_steps else (np.array([1.0, -9.0]), np.array([8.0, 9.0]))
    x = low if side == "lower" else high
    far = (high - low) * np.linspace(0.3, 0.7, space.d)

    def classify(Z: FloatArray) -> FloatArray:
        classes: FloatArray = np.where(np.abs(Z - x) > far, np.arange(1.0, space.d + 1), 0.0).max(axis=1)
        return classes

    drawn = low + rng(9).random((60, space.d)) * (high - low)
    X = np.where(space.is_categorical, np.rint(drawn), drawn)
    problem = SpiedProblem(
        space,
        x,
        classify,
        constraints=True,
        respect_steps=respect_steps,
        max_queries=5_000,
        training=TrainingFold(X, np.zeros(len(X), dtype=np.int64)),
    )
    assert isinstance(entry.searcher, type)
    searcher = entry.searcher(**(entry.check_settings or {}))
    assert isinstance(searcher, Searcher)
    try:
        z = searched(searcher, problem)
    except BudgetExhausted:
        z = None
    if problem.asked:
        rows = np.concatenate(problem.asked)
        if entry.name in BETWEEN_CATEGORIES:
            rows = np.where(space.is_categorical, np.rint(rows), rows)
        assert problem.is_feasible(rows).all()
    if z is not None:
        assert isinstance(z, np.ndarray)
        assert z.shape == (space.d,)
        assert problem.is_feasible(z[np.newaxis])[0]
        assert classify(z[np.newaxis])[0] == 1


@pytest.mark.parametrize("respect_steps", [False, True])
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_row_asked_among_all_kinds_of_features_is_feasible(entry: SearcherEntry, respect_steps: bool) -> None:
    problem = SpiedProblem(
        MIXED,
        MIXED_X,
        lambda Z: Z[:, 0] > 60,
        constraints=True,
        respect_steps=respect_steps,
        max_queries=5000,
        training=TrainingFold(np.tile(MIXED_X, (3, 1)), np.zeros(3, dtype=np.int64)),
    )
    assert isinstance(entry.searcher, type)
    with suppress(BudgetExhausted):
        searched(entry.searcher(**(entry.check_settings or {})), problem)
    rows = np.concatenate([MIXED_X[np.newaxis], *problem.asked])
    if entry.name in BETWEEN_CATEGORIES:
        rows = np.where(MIXED.is_categorical, np.rint(rows), rows)
    assert problem.is_feasible(rows).all()
