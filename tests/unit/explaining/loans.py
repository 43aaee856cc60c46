"""A rule whose closest counterfactuals can be worked out by hand, and how it is explained."""

from __future__ import annotations

from typing import Any

import numpy as np

import cfbench
from cfbench import Constraint, FeatureSpace, FeatureSpec, Handles, Kind, Problem, SearcherEntry
from cfbench.space import FloatArray

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 100, unit="k"),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98, constraint=Constraint.FIXED),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 2, categories=("rents", "owns", "neither")),
    )
)
X = [20.0, 40.0, 0.0]


def grant(rows: Any) -> Any:
    """Grant a loan where income is at least 50, or at least 30 in a home of one's own."""
    rows = np.asarray(rows)
    return np.where(rows[:, 0] >= np.where(rows[:, 2] == 1, 30, 50), "granted", "refused")


class Granting:
    """The same as a model with probabilities."""

    classes_ = np.array(["granted", "refused"])

    def predict(self, rows: Any) -> Any:
        return grant(rows)

    def predict_proba(self, rows: Any) -> Any:
        granted = (grant(rows) == "granted").astype(float)
        return np.column_stack([granted, 1 - granted])


def earn_fifty(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = 50.0
    problem.predict(z[np.newaxis])
    return z


def buy(problem: Problem, rng: np.random.Generator) -> FloatArray:
    return np.array([30.0, problem.x[1], 1.0])


ALL = [Handles.CATEGORICAL, Handles.CONSTRAINTS, Handles.OBJECTIVES]


def entry(searcher: Any, **declared: Any) -> SearcherEntry:
    return SearcherEntry(name="mine", searcher=searcher, **{"handles": ALL, **declared})


def explained(searcher: Any, x: Any = X, **changes: Any) -> cfbench.Explanation:
    asked: dict[str, Any] = {"model": grant, "space": SPACE, "target": "granted", **changes}
    return cfbench.explain(x, searcher=searcher, **asked)
