"""Gradient descent on logistic models in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from cfbench_searchers.gradient_descent import GradientDescent
from tests.plugins.searchers.problems import SpiedProblem, answer_of, rng, searched


class Logistic:
    """Log-odds ``weights . Z + bias``, categories included by their codes."""

    def __init__(self, weights: list[float], bias: float) -> None:
        self.weights, self.bias = np.array(weights), bias

    def log_odds(self, Z: FloatArray, target: int) -> FloatArray:
        odds: FloatArray = Z @ self.weights + self.bias
        return odds if target == 1 else -odds

    def log_odds_gradient(self, Z: FloatArray, target: int) -> FloatArray:
        return np.tile(self.weights if target == 1 else -self.weights, (len(Z), 1))


def problem_of(space: FeatureSpace, x: list[float], model: Logistic, **options: Any) -> SpiedProblem:
    return SpiedProblem(space, x, lambda Z: model.log_odds(Z, 1) > 0, model=model, **options)


def numbers(*widths: float, **keys: Any) -> FeatureSpace:
    return FeatureSpace(tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, w, **keys) for i, w in enumerate(widths)))


def test_one_feature_ends_at_the_boundary() -> None:
    # The class changes at 7.
    z = answer_of(GradientDescent(), problem_of(numbers(10), [2.0], Logistic([1.0], -7.0)))
    assert 7 < z[0] < 7.05


def test_it_moves_the_feature_that_helps_most_per_share_of_its_range() -> None:
    # A unit of the first takes 1 % of its range and of the second 10 %; both add the same to the log-odds.
    z = answer_of(GradientDescent(), problem_of(numbers(100, 10), [20.0, 2.0], Logistic([1.0, 1.0], -30.0)))
    assert 28 < z[0] < 28.5
    assert z[1] == 2.0


def test_a_category_is_changed_where_that_is_cheaper() -> None:
    space = FeatureSpace(
        (
            FeatureSpec("size", Kind.NUMERICAL, 0, 1),
            FeatureSpec("hue", Kind.CATEGORICAL, 0, 2, ("a", "b", "c")),
        )
    )
    # 2 by the hue alone (a whole change, .5 of Gower), or .9 of the size's range.
    z = answer_of(GradientDescent(), problem_of(space, [0.05, 0.0], Logistic([1.0, 0.5], -0.94)))
    assert z.tolist()[1] == 2.0
    assert z[0] == 0.05


def test_constraints_and_steps_hold() -> None:
    space = FeatureSpace(
        (
            FeatureSpec("age", Kind.NUMERICAL, 0, 10, constraint=Constraint.ONLY_DOWN, step=1),
            FeatureSpec("size", Kind.NUMERICAL, 0, 10, step=1),
        )
    )
    model = Logistic([3.0, 1.0], -14.5)  # at age 3, size must be 6
    z = answer_of(GradientDescent(), problem_of(space, [3.0, 2.0], model, constraints=True, respect_steps=True))
    assert z.tolist() == [3.0, 6.0]


RELATED = FeatureSpace(
    (FeatureSpec("width", Kind.NUMERICAL, 0, 20), FeatureSpec("height", Kind.NUMERICAL, -5, 5)),
    relations=("width / 20 + height / 10 <= -0.053",),
)


def test_a_relation_that_excludes_nine_tenths_of_the_box_is_kept() -> None:
    sizes = rng().uniform([0, -5], [20, 5], (100_000, 2))
    assert RELATED.keeps_relations(sizes, np.array([2.0, -2.0])).mean() < 0.101
    # The class changes at width 6, where the relation leaves heights up to -3.53.
    problem = problem_of(RELATED, [2.0, -2.0], Logistic([1.0, 0.0], -6.0), constraints=True)
    z = answer_of(GradientDescent(), problem)
    assert problem.is_feasible(z[np.newaxis])[0]
    assert 6 < z[0] < 6.5
    cheapest = problem.distance(np.array([[6.0, -3.53]]))[0]
    assert cheapest <= problem.distance(z[np.newaxis])[0] < cheapest + 0.02


def test_a_forbidden_category_gives_way_to_the_next_best() -> None:
    space = FeatureSpace(
        (
            FeatureSpec("size", Kind.NUMERICAL, 0, 1),
            FeatureSpec("hue", Kind.CATEGORICAL, 0, 2, ("a", "b", "c")),
        ),
        relations=({"feature": "hue", "from": "a", "to": ["c"]},),
    )
    model = Logistic([0.4, 0.5], -0.45)  # the size alone is not enough; b is, and c would be further inside
    z = answer_of(GradientDescent(), problem_of(space, [0.05, 0.0], model, constraints=True))
    assert z.tolist() == [0.05, 1.0]
    z = answer_of(GradientDescent(), problem_of(space, [0.05, 0.0], model))  # without constraints, the best comes first
    assert z.tolist() == [0.05, 2.0]


@pytest.mark.parametrize("bias", [-20.0, -np.inf])
def test_none_where_the_class_is_out_of_reach(bias: float) -> None:
    assert searched(GradientDescent(n_steps=50), problem_of(numbers(10), [2.0], Logistic([1.0], bias))) is None


def test_the_other_class_is_reached_as_well() -> None:
    model = Logistic([1.0], -7.0)
    problem = SpiedProblem(numbers(10), [9.0], lambda Z: model.log_odds(Z, 1) > 0, target=0, model=model)
    z = answer_of(GradientDescent(), problem)
    assert 6.95 < z[0] <= 7
