"""The compiled measure of candidates has the bits of the plain one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numba  # noqa: F401 - the compiled form serves where numba is loaded
import numpy as np
import pytest

from cfbench.problem.distances import KERNELS, MOST_FEATURES, FastCandidateMeasure, warm_up
from cfbench.problem.problem import CandidateMeasure
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, Kind


@pytest.fixture(autouse=True)
def _compiled() -> None:
    """Wait until the kernels are compiled."""
    KERNELS.load()


def space_of(d: int, rng: np.random.Generator) -> FeatureSpace:
    """Make numbers with and without steps, and categories, under all constraints."""
    features = []
    for i in range(d):
        if rng.random() < 0.4:
            k = int(rng.integers(1, 5))
            constraint = [Constraint.FREE, Constraint.FIXED][int(rng.integers(2))]
            features.append(FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, k - 1, tuple("abcd"[:k]), constraint=constraint))
        else:
            lower = float(rng.normal())
            upper = lower + float(10.0 ** rng.integers(-6, 7))
            step = [None, 0.1, 1.0][int(rng.integers(3))] if upper - lower > 2 else None
            constraint = list(Constraint)[int(rng.integers(4))]
            features.append(FeatureSpec(f"n{i}", Kind.NUMERICAL, lower, upper, constraint=constraint, step=step))
    return FeatureSpace(tuple(features))


def rows_of(space: FeatureSpace, x: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw rows that keep much of `x`, most of them feasible, some on steps, some anywhere."""
    drawn = space.lower + rng.random((n, space.d)) * (space.upper - space.lower)
    whole = np.where(space.is_categorical | (rng.random((n, space.d)) < 0.3), np.round(drawn), drawn)
    tenth = np.where(rng.random((n, space.d)) < 0.2, np.round(whole, 1), whole)
    rows = np.where(rng.random((n, space.d)) < 1 - 1 / space.d, x, tenth)
    odd = rng.choice([-np.inf, np.inf, np.nan, 0.5, -1.0, 1e9], (n, space.d))
    result: FloatArray = np.where(rng.random((n, space.d)) < 0.1 / space.d, odd, rows)
    return result


@pytest.mark.parametrize("d", [*range(1, 20), 31, 64, 127, 128, 129, 200])
def test_every_bit_is_that_of_the_plain_form(d: int) -> None:
    rng = np.random.default_rng(d)
    space = space_of(d, rng)
    middle = (space.lower + space.upper) / 2
    x = np.where(space.is_categorical, 0.0, np.where(np.isnan(space.steps), middle, np.round(middle)))
    Z = rows_of(space, x, 200, rng)
    for options in ({"constraints": c, "respect_steps": s} for c in (False, True) for s in (False, True)):
        plain, fast = CandidateMeasure(space, x, **options), FastCandidateMeasure(space, x, **options)
        assert (fast._ask is not None) == (d <= MOST_FEATURES)
        with np.errstate(invalid="ignore"):  # of infinities
            wanted = plain.measure(Z)
        with np.errstate(invalid="ignore"):
            given = [fast.measure(Z), (fast.cost(Z), fast.is_feasible(Z))]
        for cost, feasible in given:
            np.testing.assert_array_equal(cost, wanted[0])
            np.testing.assert_array_equal(feasible, wanted[1])
        assert 0 < wanted[1].sum() < len(Z)


@pytest.mark.parametrize(
    "form",
    [np.asfortranarray, lambda Z: Z.tolist(), lambda Z: Z.astype(np.float32), lambda Z: Z[::2], lambda Z: Z[:0]],
)
def test_rows_in_any_form_are_measured(form: Any) -> None:
    rng = np.random.default_rng(0)
    space = space_of(6, rng)
    x = np.where(space.is_categorical, 0.0, space.lower)
    Z = form(np.round(space.lower + rng.random((8, 6)) * (space.upper - space.lower)))
    plain, fast = (
        kind(space, x, constraints=True, respect_steps=False) for kind in (CandidateMeasure, FastCandidateMeasure)
    )
    np.testing.assert_array_equal(fast.cost(Z), plain.cost(Z))
    np.testing.assert_array_equal(fast.is_feasible(np.asarray(Z)), plain.is_feasible(np.asarray(Z)))


def test_rows_of_another_width_are_refused_and_never_read_past_their_end() -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1), FeatureSpec("b", Kind.NUMERICAL, 0, 1)))
    fast = FastCandidateMeasure(space, np.zeros(2), constraints=False, respect_steps=False)
    for ask in (fast.cost, fast.is_feasible, fast.measure):
        with pytest.raises(ValueError, match="broadcast"):
            ask(np.zeros((4, 3)))


def test_it_keeps_measuring_by_what_it_was_made_of() -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1),))
    x = np.zeros(1)
    fast = FastCandidateMeasure(space, x, constraints=False, respect_steps=False)
    assert fast._ask is not None
    x[0] = 1.0
    assert fast.cost(np.zeros((1, 1)))[0] == 0.0
    assert replace(space) == space


def test_the_warm_up_calls_every_kernel_as_searches_do() -> None:
    warm_up()
    space = space_of(5, np.random.default_rng(1))
    fast = FastCandidateMeasure(space, space.lower, constraints=True, respect_steps=True)
    before = [len(kernel.signatures) for kernel in (fast._ask.costs, fast._ask.are_within, fast._ask.measures)]
    fast.measure(np.zeros((3, 5)))
    fast.cost(np.zeros((3, 5)))
    fast.is_feasible(np.zeros((3, 5)))
    after = [len(kernel.signatures) for kernel in (fast._ask.costs, fast._ask.are_within, fast._ask.measures)]
    assert before == after
