"""Hand-made problems for the searchers: every row that is asked is kept, and the right answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfbench import CategoricalPerturbation, Constraint, FeatureSpace, FeatureSpec, Kind, Problem
from cfbench.problem.oracle import Meter
from cfbench.space import FloatArray, IntArray

Classify = Callable[[FloatArray], Any]


class _Spy:
    """An oracle by a rule, which keeps what it was asked."""

    def __init__(self, classify: Classify, asked: list[FloatArray]) -> None:
        self._classify = classify
        self._asked = asked

    def predict(self, Z: FloatArray) -> IntArray:
        self._asked.append(Z.copy())
        return np.asarray(self._classify(Z)).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        raise NotImplementedError


@pytest.fixture
def asked() -> list[FloatArray]:
    """Every question put to the problems of this test, in order."""
    return []


@pytest.fixture
def make_problem(asked: list[FloatArray]) -> Callable[..., Problem]:
    """Build a problem with target class 1 from a space, a factual point and a rule for the classes."""

    def make(
        space: FeatureSpace, x: Any, classify: Classify, *, max_queries: int | None = None, **options: Any
    ) -> Problem:
        meter = Meter(_Spy(classify, asked), space.d, max_queries)
        return Problem(np.asarray(x, dtype=np.float64), 1, space, meter, **options)

    return make


@pytest.fixture
def numbers() -> Callable[..., FeatureSpace]:
    """Build a space of numerical features, one for each interval given."""

    def make(*intervals: tuple[float, float]) -> FeatureSpace:
        return FeatureSpace(
            tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, *interval) for i, interval in enumerate(intervals))
        )

    return make


@pytest.fixture
def categories() -> Callable[..., FeatureSpace]:
    """Build a space of categorical features, one for each number of categories given."""

    def make(*counts: int) -> FeatureSpace:
        return FeatureSpace(
            tuple(
                FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, count - 1, tuple("abcdefgh"[:count]))
                for i, count in enumerate(counts)
            )
        )

    return make


@pytest.fixture
def mixed() -> FeatureSpace:
    """A space with every kind of feature and constraint."""
    return FeatureSpace(
        (
            FeatureSpec("age", Kind.NUMERICAL, 18, 90, constraint=Constraint.ONLY_UP, step=1),
            FeatureSpec("income", Kind.NUMERICAL, -500, 20_000),
            FeatureSpec("debt", Kind.NUMERICAL, 0, 1e-3, constraint=Constraint.ONLY_DOWN),
            FeatureSpec("height", Kind.NUMERICAL, 1, 2.5, constraint=Constraint.FIXED),
            FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("none", "low", "mid", "high")),
            FeatureSpec("sex", Kind.CATEGORICAL, 0, 1, ("f", "m"), constraint=Constraint.FIXED),
            FeatureSpec(
                "home", Kind.CATEGORICAL, 0, 2, ("rent", "own", "free"), perturbation=CategoricalPerturbation((0, 1))
            ),
            FeatureSpec("planet", Kind.CATEGORICAL, 0, 0, ("earth",)),
        )
    )


@pytest.fixture
def mixed_x() -> FloatArray:
    """A factual point of `mixed`, two of its values at the sides of their intervals."""
    return np.array([40.0, 20_000.0, 5e-4, 1.75, 0.0, 1.0, 2.0, 0.0])
