"""A generated problem: a space, a factual point, a model in closed form, and what is asked of the searcher."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cfbench.contracts import FittedModel, Objective, ObjectiveContext
from cfbench.problem import Term, TrainingFold
from cfbench.space import FeatureSpace, FloatArray, IntArray, Kind
from cfbench.testing.rules import Rule

N_TRAINING = 60
"""Rows of a training fold that is made up."""


class Toll(Objective):
    """An objective that makes moving one feature dear, in proportion to how far it moves.

    It asks the model one row a candidate, as objectives of robustness ask many, and makes nothing of the answer.

    Parameters
    ----------
    feature : int
    price : float
        Of a move across the feature's whole interval.
    """

    feature: int
    price: float = 5.0

    def bind(self, context: ObjectiveContext) -> Term:
        """Return the term ``price * |z_i - x_i| / range_i``."""
        i = self.feature

        def toll(Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG001 - a term receives both
            context.predict(Z)
            moves: FloatArray = np.abs(Z[:, i] - context.x[i]) / context.space.ranges[i]
            return self.price * moves

        return toll

    def rows_per_candidate(self) -> int:
        """One row."""
        return 1

    def draws_per_candidate(self) -> int:
        """Return 0: equal candidates have equal values."""
        return 0


class Lottery(Objective):
    """An objective that is nothing but noise: each value is drawn anew, uniformly, whatever the candidate.

    Its range is some twenty times that of costs, so that the smallest of many values says nothing of its candidate.

    Parameters
    ----------
    seed : int
    highest : float
    """

    seed: int
    highest: float = 20.0

    def bind(self, context: ObjectiveContext) -> Term:
        """Return the term."""
        draws = np.random.default_rng([self.seed, context.stream])

        def lottery(Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG001 - a term receives both
            return self.highest * draws.random(len(Z))

        return lottery

    def draws_per_candidate(self) -> int:
        """Return 64, as many as the objective `k` takes."""
        return 64


@dataclass(frozen=True, eq=False)
class Case:
    """One problem to put to a searcher.

    Parameters
    ----------
    name : str
        Unique among the cases; results are kept under it.
    rule : Rule
        The model, unless `model` is given; its space is the problem's.
    x : tuple of float
    target : int
    answer : tuple of float or None
        A counterfactual that is known to be there; None where there is none.
    constraints, respect_steps : bool
    max_queries : int or None
        The query budget; None: the entry's default.
    objective : Objective or None
        None: the loss alone.
    constant : mapping of int to float
        Features that have one value in all training rows.
    rows : tuple of (tuple of float)
        Further training rows.
    mislabelled : int
        Training rows that the data put into the target class, whatever the model says.
    model : FittedModel or None
        A fitted model that shows its structure, for searchers that need one.
    """

    name: str
    rule: Rule
    x: tuple[float, ...]
    target: int = 1
    answer: tuple[float, ...] | None = None
    constraints: bool = False
    respect_steps: bool = False
    max_queries: int | None = None
    objective: Objective | None = None
    constant: Mapping[int, float] = field(default_factory=dict)
    rows: tuple[tuple[float, ...], ...] = ()
    mislabelled: int = 0
    model: FittedModel | None = None

    @property
    def space(self) -> FeatureSpace:
        """The space that the rule is about."""
        return self.rule.space

    @property
    def asked(self) -> FittedModel:
        """The model that questions go to."""
        return self.rule if self.model is None else self.model

    def training(self, n: int = N_TRAINING) -> TrainingFold:
        """Make up a training fold: uniform rows, `rows`, labels by the rule but for the mislabelled ones."""
        rng = np.random.default_rng(5)
        columns = [
            rng.integers(0, feature.n_categories, n).astype(np.float64)
            if feature.kind is Kind.CATEGORICAL
            else rng.uniform(feature.lower, feature.upper, n)
            for feature in self.space.features
        ]
        for i, feature in enumerate(self.space.features):
            if i in self.constant:
                columns[i] = np.full(n, self.constant[i])
            elif feature.step is not None:
                columns[i] = np.round(columns[i] / feature.step) * feature.step
        X = np.column_stack(columns)
        if self.rows:
            X = np.concatenate([X, np.array(self.rows, dtype=np.float64)])
        y = self.rule.predict(X)
        y[: self.mislabelled] = self.target
        for array in (X, y):
            array.setflags(write=False)
        return TrainingFold(X, y)
