"""Distances and rules of the feature space, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.errors import DataError
from cfbench.space.space import (
    CategoricalPerturbation,
    Constraint,
    FeatureSpace,
    FeatureSpec,
    Kind,
    NumericalPerturbation,
)

AGE = FeatureSpec("age", Kind.NUMERICAL, 20, 70, constraint=Constraint.ONLY_UP, step=1)
AMOUNT = FeatureSpec("amount", Kind.NUMERICAL, 0, 1000, perturbation=NumericalPerturbation(5, 10))
JOB = FeatureSpec("job", Kind.CATEGORICAL, 0, 2, categories=("none", "clerk", "smith"))
SEX = FeatureSpec("sex", Kind.CATEGORICAL, 0, 1, categories=("f", "m"), constraint=Constraint.FIXED)
DEBT = FeatureSpec("debt", Kind.NUMERICAL, -1, 1, constraint=Constraint.ONLY_DOWN)
SPACE = FeatureSpace((AGE, AMOUNT, JOB, SEX, DEBT))
X = np.array([30, 500, 1, 0, 0.5])


def row(**changes: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    z = X.copy()
    for name, value in changes.items():
        z[SPACE.names.index(name)] = value
    return z


def test_gower_l0_and_cost_by_hand() -> None:
    Z = np.stack([X, row(age=40), row(job=2), row(age=40, amount=750, job=0, debt=-0.5)])
    # Shares of the ranges 50, 1000 and 2: 10/50 = 0.2, 250/1000 = 0.25, 1/2 = 0.5; a category counts 1.
    np.testing.assert_allclose(SPACE.gower(Z, X), [0, 0.2 / 5, 1 / 5, (0.2 + 0.25 + 1 + 0.5) / 5])
    np.testing.assert_array_equal(SPACE.l0(Z, X), [0, 1, 1, 4])
    np.testing.assert_allclose(SPACE.cost(Z, X), [0, 0.5 * 0.04 + 0.1, 0.5 * 0.2 + 0.1, 0.5 * 0.39 + 0.4])


def test_a_value_that_differs_at_all_is_changed() -> None:
    almost = row(amount=np.nextafter(500, 501))
    np.testing.assert_array_equal(SPACE.changed(almost[np.newaxis], X), [[False, True, False, False, False]])


@given(st.integers(0, 2**32 - 1))
def test_distances_of_points_inside_are_symmetric_and_in_the_unit_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z = SPACE.lower + rng.random((20, 5)) * (SPACE.upper - SPACE.lower)
    Z[:, SPACE.is_categorical] = np.round(Z[:, SPACE.is_categorical])
    for distance in (SPACE.gower, SPACE.cost):
        values = distance(Z, Z[0])
        assert values[0] == 0
        assert ((values >= 0) & (values <= 1)).all()
        back = [distance(Z[:1], z)[0] for z in Z]
        np.testing.assert_array_equal(values, back)


def test_feasible_bounds_follow_the_constraints() -> None:
    lower, upper = SPACE.feasible_bounds(X)
    np.testing.assert_array_equal(lower, [30, 0, 0, 0, -1])
    np.testing.assert_array_equal(upper, [70, 1000, 2, 0, 0.5])


@pytest.mark.parametrize(
    ("changes", "constraints", "steps", "objection"),
    [
        ({}, True, True, None),
        ({"age": 31}, True, True, None),
        ({"age": 29}, False, False, None),
        ({"age": 29}, True, False, "age = 29.0 breaks the constraint '>=' on 30.0"),
        ({"sex": 1}, False, False, None),
        ({"sex": 1}, True, False, "sex = 1.0 breaks the constraint '=' on 0.0"),
        ({"debt": 0.6}, True, False, "debt = 0.6 breaks the constraint '<=' on 0.5"),
        ({"amount": 1000}, True, True, None),
        ({"amount": 1000.5}, False, False, "amount = 1000.5 is outside [0, 1000]"),
        ({"job": 3}, False, False, "job = 3.0 is outside [0, 2]"),
        ({"job": 0.5}, False, False, "job = 0.5 is no category code"),
        ({"amount": np.nan}, False, False, "amount = nan is not finite"),
        ({"amount": np.inf}, False, True, "amount = inf is not finite"),
        ({"age": 34.2}, True, False, None),
        ({"age": 34.2}, True, True, "a value is off the multiples of its feature's step"),
    ],
)
def test_what_is_feasible_and_why_not(
    changes: dict[str, float], constraints: bool, steps: bool, objection: str | None
) -> None:
    z = row(**changes)
    assert SPACE.objection(z, X, constraints=constraints, respect_steps=steps) == objection
    (feasible,) = SPACE.is_feasible(z[np.newaxis], X, constraints=constraints, respect_steps=steps)
    assert feasible == (objection is None)


@pytest.mark.parametrize(
    ("step", "value", "on_grid"),
    [(0.1, 0.3, True), (0.1, 0.1 * 3, True), (0.1, 0.35, False), (0.1, 0.3 + 1e-12, False), (2.5, 7.5, True)],
)
def test_fractional_steps_allow_for_the_rounding_of_floats(step: float, value: float, on_grid: bool) -> None:
    space = FeatureSpace((FeatureSpec("rate", Kind.NUMERICAL, 0, 10, step=step),))
    z = np.array([[value]])
    assert space.is_feasible(z, z[0], constraints=False, respect_steps=True)[0] == on_grid


def test_arrays_of_the_space_cannot_be_written() -> None:
    for array in (SPACE.lower, SPACE.upper, SPACE.ranges, SPACE.is_categorical, SPACE.n_categories):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    np.testing.assert_array_equal(SPACE.ranges, [50, 1000, 1, 1, 2])
    np.testing.assert_array_equal(SPACE.n_categories, [0, 0, 3, 2, 0])
    assert len(SPACE) == SPACE.d == 5


def test_the_digest_covers_what_can_change_a_result_and_nothing_else() -> None:
    def digest(**changes: Any) -> str:
        return FeatureSpace((replace(AMOUNT, **changes),)).digest

    same = [digest(), digest(unit="EUR"), digest(description="What is lent."), digest(lower=0.0)]
    assert len(set(same)) == 1
    different = [
        digest(),
        digest(name="sum"),
        digest(upper=1001),
        digest(step=1),
        digest(constraint=Constraint.FIXED),
        digest(perturbation=None),
        digest(perturbation=NumericalPerturbation(5, 10, relative=True)),
        digest(perturbation=NumericalPerturbation(10, 5)),
        FeatureSpace((JOB,)).digest,
        FeatureSpace((replace(JOB, categories=("none", "smith", "clerk")),)).digest,
        FeatureSpace((replace(JOB, perturbation=CategoricalPerturbation((1,))),)).digest,
        FeatureSpace((AMOUNT, JOB)).digest,
        FeatureSpace((JOB, AMOUNT)).digest,
    ]
    assert len(set(different)) == len(different)


@pytest.mark.parametrize(
    ("spec", "changes", "message"),
    [
        (
            AMOUNT,
            {"lower": 5, "upper": 5},
            r"feature 'amount': its interval \[5, 5\] needs a minimum below its maximum",
        ),
        (AMOUNT, {"upper": np.inf}, "is not finite"),
        (AMOUNT, {"lower": -1e308, "upper": 1e308}, "is wider than the largest number"),
        (AMOUNT, {"step": 1e308}, "its step is 1e[+]308, and its interval .0, 1000. is narrower than that"),
        (AMOUNT, {"step": 1e-300}, "too fine to distinguish numbers as large as those of its interval"),
        (AMOUNT, {"perturbation": NumericalPerturbation(1e308, 1e308)}, "reaches past the largest number"),
        (AMOUNT, {"perturbation": NumericalPerturbation(1e307, 0, relative=True)}, "reaches past the largest number"),
        (JOB, {"perturbation": CategoricalPerturbation(())}, "its perturbation leads to no category"),
        (AMOUNT, {"categories": ("a",)}, "a numerical feature has no categories"),
        (AMOUNT, {"step": 0}, "its step is 0; it must be a positive number"),
        (AMOUNT, {"perturbation": CategoricalPerturbation((0,))}, "by a decrease and an increase, not by categories"),
        (AMOUNT, {"perturbation": NumericalPerturbation(-1, 0)}, "a magnitude of -1; magnitudes are finite and >= 0"),
        (JOB, {"categories": (), "upper": -1}, "needs at least one category"),
        (JOB, {"categories": ("a", "a", "b")}, "category 'a' is listed more than once"),
        (JOB, {"upper": 5}, "codes run from 0 to 2, not from 0 to 5"),
        (JOB, {"constraint": Constraint.ONLY_UP}, "constraint '>=' needs an order"),
        (JOB, {"step": 1}, "a categorical feature has no step"),
        (JOB, {"perturbation": NumericalPerturbation(1, 1)}, "perturbed to categories"),
        (JOB, {"perturbation": CategoricalPerturbation((1, 3))}, "names code 3; codes run from 0 to 2"),
    ],
)
def test_annotations_that_contradict_themselves_are_refused(
    spec: FeatureSpec, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        replace(spec, **changes)


def test_a_space_needs_features_with_names_of_their_own() -> None:
    with pytest.raises(DataError, match="at least one feature"):
        FeatureSpace(())
    with pytest.raises(DataError, match="'age' is annotated more than once"):
        FeatureSpace((AGE, JOB, AGE))
