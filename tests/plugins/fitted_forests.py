"""Forests fitted on a table with numbers and categories, of which some rows are hard."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.family import ForestModel, RandomForest

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0, perturbation=NumericalPerturbation(100, 20)),
        FeatureSpec(
            "job",
            Kind.CATEGORICAL,
            0,
            3,
            categories=("none", "clerk", "nurse", "pilot"),
            perturbation=CategoricalPerturbation((1, 2, 3)),
        ),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes"), perturbation=CategoricalPerturbation((0, 1))),
        FeatureSpec("debt", Kind.NUMERICAL, -1.0, 1.0, perturbation=NumericalPerturbation(0.5, 0.5, relative=True)),
        FeatureSpec("rooms", Kind.NUMERICAL, 1.0, 9.0, step=1),
        FeatureSpec("planet", Kind.CATEGORICAL, 0, 0, ("earth",)),
    )
)


def table(n: int, seed: int, classes: int = 2) -> tuple[FloatArray, IntArray]:
    """Rows without any pilot, so that one category is absent from training."""
    rng = np.random.default_rng(seed)
    income, debt = rng.uniform(0, 1000, n), np.round(rng.normal(0, 0.3, n), 2)
    job, owner, rooms = rng.integers(3, size=n), rng.integers(2, size=n), rng.integers(1, 10, n)
    X = np.column_stack([income, job, owner, debt, rooms, np.zeros(n)]).astype(np.float64)
    score = income / 1000 + (job == 2) * 0.5 - debt + rng.normal(0, 0.3, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    return X, y


@cache
def forest(trees: int, classes: int, split: int) -> ForestModel:
    X, y = table(150, seed=classes, classes=classes)
    return RandomForest().fit(X, y, SPACE, {"n_estimators": trees, "min_samples_split": split, "max_features": "sqrt"})
