"""Every kind of compiled query, made once of a tiny forest and a boosted ensemble, so that each kernel is compiled."""

from __future__ import annotations

import numpy as np

from cfbench import FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.robustness import KNeighbours
from cfbench_models.boosting.family import GradientBoosting
from cfbench_models.forest.family import RandomForest
from cfbench_models.forest.oracle import CompiledForest, forest_oracle

_SPACE = FeatureSpace(
    (
        FeatureSpec("number", Kind.NUMERICAL, 0, 1, perturbation=NumericalPerturbation(0.1, 0.1)),
        FeatureSpec("category", Kind.CATEGORICAL, 0, 2, categories=("a", "b", "c")),
    )
)


def warm_up() -> None:
    """Fit the forest and the boosted ensemble, and query them."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.random(40), rng.integers(0, 3, 40).astype(np.float64)], axis=1)
    y = (X[:, 0] + X[:, 1] > 1).astype(np.int64)
    settings = {"n_estimators": 2, "min_samples_split": 2, "max_features": "sqrt"}
    forest = forest_oracle(RandomForest().fit(X, y, _SPACE, settings))
    # Forests compare float32, boosted ensembles float64.
    boosted = GradientBoosting(max_iter=2).fit(X, y, _SPACE, {"min_samples_leaf": 2}).oracle()
    for oracle in (forest, boosted):
        assert isinstance(oracle, CompiledForest)
        oracle.predict(X)
        oracle.predict(X[:1])
        oracle.predict_proba(X)
        oracle.predict_neighbours(X, KNeighbours(_SPACE, X[0], stream=0, m=64))
