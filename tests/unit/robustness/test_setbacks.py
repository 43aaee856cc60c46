"""C-setbacks by hand, and their properties in random spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.robustness.setbacks import Setbacks
from cfbench.space.space import (
    CategoricalPerturbation,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    Kind,
    NumericalPerturbation,
)


def number(
    name: str, lower: float, upper: float, reach: tuple[float, float] | None = None, *, relative: bool = False
) -> FeatureSpec:
    perturbation = NumericalPerturbation(*reach, relative) if reach else None
    return FeatureSpec(name, Kind.NUMERICAL, lower, upper, perturbation=perturbation)


def choice(name: str, labels: str, *codes: int) -> FeatureSpec:
    categories = tuple(labels.split())
    perturbation = CategoricalPerturbation(codes) if codes else None
    return FeatureSpec(name, Kind.CATEGORICAL, 0, len(categories) - 1, categories, perturbation=perturbation)


SPACE = FeatureSpace(
    (number("income", 0, 100, (5, 10)), number("debt", 0, 20, (0.5, 0.25), relative=True), choice("job", "a b c", 0, 2))
)
X = np.array([50.0, 8.0, 0.0])


def largest(*z: float) -> list[float]:
    found: FloatArray = Setbacks(SPACE, X).largest(np.array([z]))
    return found[0].tolist()  # type: ignore[no-any-return, unused-ignore]


def test_a_setback_is_as_large_as_the_perturbation_that_points_back() -> None:
    assert largest(70, 8, 0) == [-5, 0, 0]  # an increase is set back by the largest decrease
    assert largest(30, 8, 0) == [10, 0, 0]


def test_a_setback_never_passes_x() -> None:
    assert largest(52, 8, 0) == [-2, 0, 0]
    assert largest(43, 8, 0) == [7, 0, 0]


def test_relative_setbacks_scale_with_the_value_to_achieve() -> None:
    assert largest(50, 12, 0) == [0, -4, 0]  # half of 12 is 6, and x is 4 away
    assert largest(50, 20, 0) == [0, -10, 0]
    assert largest(50, 4, 0) == [0, 1, 0]  # a quarter of 4
    assert largest(50, 0, 0) == [0, 0, 0]  # of nothing


def test_kept_features_and_categories_have_no_numerical_setback() -> None:
    assert largest(50, 8, 2) == [0, 0, 0]


def test_nothing_is_set_back_where_nothing_is_annotated() -> None:
    space = FeatureSpace((number("a", 0, 1), choice("b", "x y")))
    Z = np.array([[1.0, 1.0], [0.0, 0.0]])
    setbacks = Setbacks(space, np.array([0.5, 0.0]))
    assert not setbacks.largest(Z).any()
    assert not setbacks.turned(Z).any()
    assert setbacks.detour(Z).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("codes", "z", "turned"),
    [
        ((0, 2), 2, True),  # back to 0
        ((2,), 2, False),  # 2 alone, where it is already
        ((2,), 1, True),
        ((), 2, False),  # no annotation
        ((0, 1, 2), 0, False),  # not changed
    ],
)
def test_a_changed_category_turns_where_the_set_holds_another(codes: tuple[int, ...], z: float, turned: bool) -> None:
    space = FeatureSpace((choice("job", "a b c", *codes),))
    assert Setbacks(space, np.array([0.0])).turned(np.array([[z]])).tolist() == [[turned]]


def test_the_detour_is_in_units_of_the_ranges() -> None:
    # income: 5 of 100; debt: 4 of 20; job: a mismatch; all by three features.
    Z = np.array([[70.0, 12.0, 2.0], [70.0, 8.0, 0.0], [50.0, 8.0, 0.0]])
    assert Setbacks(SPACE, X).detour(Z) == pytest.approx([(0.05 + 0.2 + 1) / 3, 0.05 / 3, 0])


def test_the_detour_is_what_gower_grows_by_at_z_minus_the_setback() -> None:
    Z = np.array([[70.0, 12.0, 0.0], [30.0, 4.0, 0.0]])
    setbacks = Setbacks(SPACE, X)
    grown = SPACE.gower(Z - setbacks.largest(Z), X)
    assert SPACE.gower(Z, X) + setbacks.detour(Z) == pytest.approx(grown)


@given(z=st.floats(-50, 50), x=st.floats(-50, 50), down=st.floats(0, 80), up=st.floats(0, 80), relative=st.booleans())
def test_setbacks_point_back_and_stay_within_reach(z: float, x: float, down: float, up: float, relative: bool) -> None:
    space = FeatureSpace((number("a", -50, 50, (down, up), relative=relative),))
    w = float(Setbacks(space, np.array([x])).largest(np.array([[z]]))[0, 0])
    scale = abs(z) if relative else 1.0
    assert -down * scale <= w <= up * scale
    assert w * (z - x) <= 0
    assert abs(w) <= abs(z - x)
