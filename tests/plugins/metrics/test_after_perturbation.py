"""Invalidity, fixability and costs after perturbations, by hand where the numbers allow it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfbench import (
    CategoricalPerturbation,
    Constraint,
    Dataset,
    FeatureSpace,
    FeatureSpec,
    Found,
    Kind,
    NumericalPerturbation,
)
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_metrics.aftermath import (
    ActualCost,
    AdditionalCost,
    Aftermath,
    AfterPerturbation,
    Fixability,
    Invalidity,
    Unfixable,
    can_walk_back,
)
from tests.plugins.metrics.cells import SPACE, context, searches, values

EVERY = (Invalidity, Fixability, Unfixable, AdditionalCost, ActualCost)
PARTS = ("c", "k", "ck")
DISTRIBUTIONS = ("uniform", "normal")
X = (2, 1, 0)


def made(metric: type[AfterPerturbation], **settings: Any) -> AfterPerturbation:
    return metric.model_validate(settings)


# ------------------------------------------------------------------ fixability, by a table of cases


@pytest.mark.parametrize(
    ("constraint", "lower", "same", "higher"),  # whether z can be walked back to from below, from z, from above
    [
        (Constraint.FREE, True, True, True),
        (Constraint.FIXED, False, True, False),
        (Constraint.ONLY_UP, True, True, False),
        (Constraint.ONLY_DOWN, False, True, True),
    ],
)
def test_the_constraint_decides_the_way_back(constraint: Constraint, lower: bool, same: bool, higher: bool) -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 10, constraint=constraint),))
    assert can_walk_back(np.array([5.0]), np.array([[4.0], [5.0], [6.0]]), space).tolist() == [lower, same, higher]


@pytest.mark.parametrize(("constraint", "fixable"), [(Constraint.FREE, True), (Constraint.FIXED, False)])
def test_a_category_can_be_changed_back_unless_it_is_fixed(constraint: Constraint, fixable: bool) -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.CATEGORICAL, 0, 2, ("x", "y", "z"), constraint),))
    assert can_walk_back(np.array([1.0]), np.array([[0.0], [1.0], [2.0]]), space).tolist() == [fixable, True, fixable]


def test_every_perturbed_feature_has_to_allow_its_step() -> None:
    up, down = Constraint.ONLY_UP, Constraint.ONLY_DOWN
    features = (FeatureSpec(name, Kind.NUMERICAL, 0, 9, constraint=way) for name, way in (("a", up), ("b", down)))
    perturbed = np.array([[4.0, 6.0], [4.0, 4.0], [6.0, 6.0], [5.0, 6.0]])
    assert can_walk_back(np.array([5.0, 5.0]), perturbed, FeatureSpace(tuple(features))).tolist() == [1, 0, 0, 1]


# ------------------------------------------------------------------ the draws of one result, by hand


Draw = tuple[Sequence[float], int, int]
"""A perturbed point, whether it is still valid, whether it can be fixed."""


def aftermath(x: Sequence[float], z: Sequence[float], *draws: Draw) -> Aftermath:
    """Return what happened to one result."""
    Z = np.array([z], dtype=np.float64)
    points, valid, fixable = zip(*draws, strict=True)
    return Aftermath(
        Z,
        Z != np.array(x),
        np.array([points], dtype=np.float64),
        np.array([valid], dtype=bool),
        np.array([fixable], dtype=bool),
    )


# wage and job are changed, debt is kept; ranges 10 and 4. A draw costs half of Gower's distance back, plus half of the
# share of changes for debt.
Z = (8, 1, 1)
DRAWS: tuple[Draw, ...] = (
    ((7, 1, 1), 1, 1),  # still valid: costs nothing
    ((6, 1, 1), 0, 1),  # wage set back by 2 of 10: 0.2/6
    ((6, 1, 2), 0, 1),  # and another job, a mismatch: 1.2/6
    ((8, 3, 1), 0, 1),  # debt moved by 2 of 4, which is a new change: (0.5 + 1)/6
    ((6, 3, 2), 0, 1),  # all of them: (1.7 + 1)/6
    ((8, 0, 1), 0, 0),  # debt moved by 1 of 4, for good; the way back would cost (0.25 + 1)/6
)
COSTS = [0.0, 0.2 / 6, 1.2 / 6, 1.5 / 6, 2.7 / 6, 1.25 / 6]


def summary(metric: AfterPerturbation, space: FeatureSpace, *draws: Draw) -> float:
    found: FloatArray = metric.summarise(aftermath(X, Z, *draws), space)
    assert found.shape == (1,)
    return float(found[0])


def test_shares_of_draws() -> None:
    assert summary(made(Invalidity), SPACE, *DRAWS) == pytest.approx(5 / 6)
    assert summary(made(Fixability), SPACE, *DRAWS) == pytest.approx(5 / 6)
    assert summary(made(Unfixable), SPACE, *DRAWS) == pytest.approx(1 / 6)


@pytest.mark.parametrize(("draw", "cost"), list(zip(DRAWS, COSTS, strict=True)))
def test_the_additional_cost_of_each_kind_of_draw(draw: Draw, cost: float) -> None:
    assert summary(made(AdditionalCost), SPACE, draw) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("over", "l0", "setbacks", "expected"),
    [
        # The ways back sum up to 0.2 + 1.2 + 1.5 + 2.7 = 5.6 sixths, and 1.25 more for the permanent draw.
        ("all", False, "normalised", 6.85 / 6 / 6),
        ("fixable", False, "normalised", 5.6 / 6 / 5),
        ("invalidated", False, "normalised", 6.85 / 6 / 5),
        # Changed features are walked back 1, 2, 0, 2 and 0 times: 5 sixths more.
        ("all", True, "normalised", 11.85 / 6 / 6),
        ("fixable", True, "normalised", 10.6 / 6 / 5),
        ("invalidated", True, "normalised", 11.85 / 6 / 5),
        # Wage is set back by 2 instead of 0.2 three times: 5.4 sixths more.
        ("all", False, "raw", 12.25 / 6 / 6),
        ("fixable", False, "raw", 11 / 6 / 5),
        ("invalidated", True, "raw", 17.25 / 6 / 5),
    ],
)
def test_every_variant_of_the_mean_with_a_permanent_draw(over: str, l0: bool, setbacks: str, expected: float) -> None:
    metric = made(AdditionalCost, over=over, l0=l0, setbacks=setbacks)
    assert summary(metric, SPACE, *DRAWS) == pytest.approx(expected)


def test_a_mean_over_no_draw_is_absent_and_one_over_all_never_is() -> None:
    assert math.isnan(summary(made(AdditionalCost, over="fixable"), SPACE, DRAWS[5]))
    assert math.isnan(summary(made(AdditionalCost, over="invalidated"), SPACE, DRAWS[0]))
    assert summary(made(AdditionalCost), SPACE, DRAWS[0]) == 0.0


# ------------------------------------------------------------------ whole cells


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_absent_with_constraints_off_and_where_nothing_was_found(part: str, distribution: str) -> None:
    table = searches((X, Z), (X, None))
    for metric in EVERY:
        instance = made(metric, part=part, distribution=distribution)
        found, nothing = values(instance, table, context())
        assert math.isfinite(found)
        assert math.isnan(nothing)
        assert all(math.isnan(value) for value in values(instance, table, context(constraints=False)))
        assert all(math.isnan(value) for value in values(instance, searches((X, None)), context()))
        assert values(instance, table.take([]), context()) == []


def test_k_perturbations_against_their_probabilities() -> None:
    # Kept: debt 1, uniform on [0.5, 1.5]. With a wage of 5.25 the class holds while debt < 1.25: three quarters.
    table = searches((X, (5.25, 1, 1)))
    assert values(made(Invalidity, draws=4000), table, context()) == pytest.approx([0.25], abs=0.03)
    # Debt may go up and down again, so everything can be fixed; the mean way back where it fails is 0.375 of 4.
    assert values(made(Fixability, draws=4000), table, context()) == [1.0]
    cost = 0.5 * 0.375 / 4 / 3 + 0.5 / 3
    (additional,) = values(made(AdditionalCost, draws=4000, over="invalidated"), table, context())
    assert additional == pytest.approx(cost, rel=0.01)


def test_what_cannot_be_repaired_costs_as_if_it_could() -> None:
    """Who needs the job `b` and may not change it: a draw of job `a` is permanent, one of `c` keeps the class."""
    wage = FeatureSpec("wage", Kind.NUMERICAL, 0, 10)
    debt = FeatureSpec("debt", Kind.NUMERICAL, 0, 4)
    job = FeatureSpec(
        "job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), Constraint.FIXED, perturbation=CategoricalPerturbation((0, 2))
    )
    table = searches(((2, 1, 1), (6, 1, 1)))
    where = context(space=FeatureSpace((wage, debt, job)))
    (lost,) = values(made(Invalidity), table, where)
    assert 0 < lost < 1
    assert values(made(Unfixable), table, where) == [lost]
    # The way back is one mismatch and one new change of three features: (1 + 1)/6.
    assert values(made(AdditionalCost), table, where) == pytest.approx([lost / 3])
    assert values(made(AdditionalCost, over="fixable"), table, where) == [0.0]
    assert values(made(AdditionalCost, over="invalidated"), table, where) == pytest.approx([1 / 3])
    (cost,) = table.cost
    assert values(made(ActualCost), table, where) == pytest.approx([cost + lost / 3])


def test_c_perturbations_against_their_probabilities() -> None:
    # The wage is set back by up to 2, the job is a or c with equal chances: valid where it is c and the setback < 1.
    table = searches((X, (6, 1, 2)))
    (invalid,) = values(made(Invalidity, part="c", draws=4000), table, context())
    assert invalid == pytest.approx(0.75, abs=0.03)


@settings(max_examples=30)
@given(
    x=st.tuples(st.floats(0, 10), st.floats(0, 4), st.sampled_from([0, 1, 2])),
    z=st.tuples(st.floats(0, 10), st.floats(0, 4), st.sampled_from([0, 1, 2])),
    distribution=st.sampled_from(DISTRIBUTIONS),
)
def test_setbacks_can_always_be_fixed(
    x: tuple[float, float, int], z: tuple[float, float, int], distribution: str
) -> None:
    z = (max(x[0], z[0]), *z[1:])  # the wage may only grow
    assert values(made(Fixability, part="c", distribution=distribution), searches((x, z)), context()) == [1.0]


def test_on_an_optimal_result_every_setback_invalidates() -> None:
    """Proposition 2, on a threshold in one dimension."""
    wage = FeatureSpec("wage", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(2, 1))
    best = np.nextafter(5.0, 6.0)

    class Threshold:
        def predict(self, Z: FloatArray) -> IntArray:
            found: IntArray = (Z[:, 0] > 5).astype(np.int64)
            return found

        def predict_proba(self, Z: FloatArray) -> FloatArray:
            return np.column_stack([1.0 - self.predict(Z), self.predict(Z)])

        def fingerprint(self) -> str:
            return "threshold"

        def oracle(self) -> Oracle:
            return self

    data = Dataset("line", np.array([[1.0]]), np.array([0]), FeatureSpace((wage,)), 1, ("no", "yes"))
    where = dataclasses.replace(context(), dataset=data, model=Threshold)
    table = Found.of_columns({"row_id": [0], "x": [[1.0]], "z": [[best]], "loss": [0.5], "cost": [0.5]})
    for distribution in DISTRIBUTIONS:
        assert values(made(Invalidity, part="c", distribution=distribution), table, where) == [1.0]
        assert values(made(Fixability, part="c", distribution=distribution), table, where) == [1.0]


def test_actual_cost_is_the_cost_and_what_comes_on_top() -> None:
    table = searches((X, (5.25, 1, 1)), (X, (6, 0.5, 2)))
    for part in PARTS:
        (first, second) = values(made(AdditionalCost, part=part), table, context())
        costs = table.cost.tolist()
        assert values(made(ActualCost, part=part), table, context()) == pytest.approx(
            [costs[0] + first, costs[1] + second]
        )
