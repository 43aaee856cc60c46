"""Hand-made problems for the searchers: every row that is queried is kept, and the right answers are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cfbench import (
    CategoricalPerturbation,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    Kind,
    Need,
    Objective,
    PrepareContext,
    Problem,
    Searcher,
)
from cfbench.problem.access import ModelAccess
from cfbench.problem.oracle import Meter
from cfbench.space import FloatArray, IntArray

Classify = Callable[[FloatArray], Any]


class SpiedProblem(Problem):
    """A problem with a rule for a model, whose target class is 1; `asked` keeps the rows of every query, in order."""

    def __init__(
        self,
        space: FeatureSpace,
        x: Any,
        classify: Classify,
        *,
        target: int = 1,
        n_classes: int = 2,
        max_queries: int | None = None,
        **options: Any,
    ) -> None:
        self.asked: list[FloatArray] = []
        self.asked_before: list[FloatArray] = []
        """The rows of the queries of a preparation."""
        self.meter = Meter(_Spy(classify, n_classes, self.asked), space.d, max_queries)
        self.prepare_meter = Meter(_Spy(classify, n_classes, self.asked_before), space.d)
        super().__init__(np.asarray(x, dtype=np.float64), target, space, self.meter, needs=list(Need), **options)


class _Spy:
    """A model by a rule, sure of its answers."""

    def __init__(self, classify: Classify, n_classes: int, asked: list[FloatArray]) -> None:
        self._classify = classify
        self._n_classes = n_classes
        self._asked = asked

    def predict(self, Z: FloatArray) -> IntArray:
        self._asked.append(Z.copy())
        return np.asarray(self._classify(Z)).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        shares: FloatArray = np.eye(self._n_classes)[self.predict(Z)]
        return shares


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def searched(searcher: Searcher, problem: SpiedProblem, seed: int = 0) -> Any:
    """Prepare a searcher for a problem, and search."""
    meter, training = problem.prepare_meter, problem.training
    context = PrepareContext(
        space=problem.space,
        target=problem.target,
        access=ModelAccess(problem.space, problem.target, meter, list(Need), training),
        rng=rng(seed + 1),
        objective=Objective(),
        constraints=problem.constraints,
        respect_steps=problem.respect_steps,
    )
    return searcher.prepare(context)(problem, rng(seed))


def answer_of(searcher: Searcher, problem: SpiedProblem, seed: int = 0) -> FloatArray:
    """Search, and return the row that must be found."""
    z = searched(searcher, problem, seed)
    assert isinstance(z, np.ndarray)
    return z


def never(Z: FloatArray) -> FloatArray:
    """A rule without the target class."""
    return np.zeros(len(Z))


def numbers(*intervals: tuple[float, float]) -> FeatureSpace:
    """Build a space of numerical features, one for each interval given."""
    return FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, *interval) for i, interval in enumerate(intervals)))


def categories(*counts: int) -> FeatureSpace:
    """Build a space of categorical features, one for each number of categories given."""
    specs = [FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, n - 1, tuple("abcdefgh"[:n])) for i, n in enumerate(counts)]
    return FeatureSpace(tuple(specs))


MIXED = FeatureSpace(
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
"""A space with every kind of feature and constraint."""
MIXED_X = np.array([40.0, 20_000.0, 5e-4, 1.75, 0.0, 1.0, 2.0, 0.0])
"""A factual point of it, two of its values at the sides of their intervals."""
