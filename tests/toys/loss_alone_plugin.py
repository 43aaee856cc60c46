"""A plugin for tests: a data set whose numbers drift, and searchers that can or cannot minimise an objective.

The model puts a case into class 1 exactly where ``size + age / 10 > 12``. `size` (0 to 20) may drift by 2, `age` (0 to
80) by 8. All searchers change `size` alone, to ``12 - age / 10`` and a margin. Then `age` is kept, and the share of its
drifts that keep class 1 is ``(0.8 + margin) / 1.6``, at most 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cfbench import (
    CounterfactualSet,
    Dataset,
    DatasetEntry,
    DataSource,
    FeatureSpace,
    FeatureSpec,
    Handles,
    Kind,
    ModelEntry,
    ModelFamily,
    NumericalPerturbation,
    Objective,
    ObjectiveContext,
    ObjectiveEntry,
    Problem,
    SearcherEntry,
    hookimpl,
)
from cfbench.digests import digest_of
from cfbench.problem import Oracle, Term
from cfbench.space import FloatArray, IntArray

NEAR, FAR = 0.1, 1.0
"""Margins: of the smallest loss, and beyond all drifts of `age`."""

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 20, perturbation=NumericalPerturbation(2, 2)),
        FeatureSpec("age", Kind.NUMERICAL, 0, 80, perturbation=NumericalPerturbation(8, 8)),
    )
)


def load(source: DataSource) -> Dataset:
    """Make 60 rows under a fixed seed, labelled by the model's own rule; `age` is far from its bounds."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 15, 60), rng.uniform(20, 60, 60)])
    return Dataset(name="drifting", X=X, y=rule(X), space=SPACE, target=1, class_labels=("no", "yes"))


def rule(Z: FloatArray) -> IntArray:
    """The toy model: class 1 where size + age / 10 > 12."""
    return np.asarray(Z[:, 0] + Z[:, 1] / 10 > 12, dtype=np.int64)


class RuleModel:
    """Knows the rule."""

    def predict(self, Z: FloatArray) -> IntArray:
        return rule(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        one = rule(Z).astype(np.float64)
        return np.column_stack([1 - one, one])

    def fingerprint(self) -> str:
        return digest_of(["rule"])

    def oracle(self) -> Oracle:
        return self


class Rule(ModelFamily):
    """The rule, whatever the data."""

    def grid(self) -> dict[str, list[Any]]:
        return {}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        return {}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> RuleModel:
        return RuleModel()


WEIGHT = 0.01


class Small(Objective):
    """The loss and a hundredth of `size`."""

    def bind(self, context: ObjectiveContext) -> Term | None:
        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            added: FloatArray = WEIGHT * Z[:, 0]
            return added

        return term


def with_margin(x: FloatArray, margin: float) -> FloatArray:
    return np.array([12 - x[1] / 10 + margin, x[1]])


def near(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Return the row with the smaller loss."""
    return with_margin(problem.x, NEAR)


def far(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Return the row that no drift of `age` costs its class."""
    return with_margin(problem.x, FAR)


def hair(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Return a row whose loss is larger by 1e-9: a margin's part of it is (1 / 2) (1 / 2) / 20."""
    return with_margin(problem.x, NEAR + 8e-8)


def worse(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """Return a row whose loss is larger by 0.005, which is at least 1 % of any loss here."""
    return with_margin(problem.x, NEAR + 0.4)


def luck(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    """Return a row of a random margin, and nothing in some searches."""
    margin = rng.uniform(-0.2, FAR)
    return with_margin(problem.x, margin) if margin > 0 else None


def both(problem: Problem, rng: np.random.Generator) -> CounterfactualSet:
    """Return both rows; the judge of the loss takes the near one."""
    return CounterfactualSet(np.vstack([with_margin(problem.x, FAR), with_margin(problem.x, NEAR)]))


@hookimpl
def cfbench_register_datasets() -> Iterator[DatasetEntry]:
    yield DatasetEntry(name="drifting", load=load)


@hookimpl
def cfbench_register_models() -> Iterator[ModelEntry]:
    yield ModelEntry(name="rule", family=Rule)


@hookimpl
def cfbench_register_objectives() -> Iterator[ObjectiveEntry]:
    yield ObjectiveEntry(name="small", objective=Small, version="1")


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    able = (Handles.CONSTRAINTS, Handles.OBJECTIVES)
    yield SearcherEntry(name="able-near", searcher=near, handles=able)
    yield SearcherEntry(name="able-far", searcher=far, handles=able)
    yield SearcherEntry(name="able-hair", searcher=hair, handles=able)
    yield SearcherEntry(name="able-worse", searcher=worse, handles=able)
    for function in (near, luck):
        yield SearcherEntry(name=f"alone-{function.__name__}", searcher=function, handles=[Handles.CONSTRAINTS])
    yield SearcherEntry(name="alone-both", searcher=both, handles=[Handles.CONSTRAINTS], returns_sets=True)
    yield SearcherEntry(name="sums-near", searcher=near, handles=[Handles.CONSTRAINTS, Handles.SEPARABLE])
