"""Random perturbations: what they may reach, how they are distributed, and that seeds alone decide them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.robustness.random_perturbations import PerturbedPart, RandomPerturbations
from cfbench.robustness.reach import Distribution
from cfbench.space.space import (
    CategoricalPerturbation,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    Kind,
    NumericalPerturbation,
)

SPACE = FeatureSpace(
    (
        FeatureSpec("wage", Kind.NUMERICAL, 0, 100, perturbation=NumericalPerturbation(10, 20)),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 50, perturbation=NumericalPerturbation(0.1, 0.5, relative=True)),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("a", "b", "c"), perturbation=CategoricalPerturbation((0, 2))),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 1, ("x", "y")),
    )
)
X = np.array([40.0, 20.0, 30.0, 0.0, 0.0])
Z = np.array([60.0, 20.0, 30.0, 2.0, 0.0])  # wage and job are changed, debt is kept
EVERY = pytest.mark.parametrize("distribution", list(Distribution))


def draw(
    part: PerturbedPart,
    distribution: Distribution = Distribution.UNIFORM,
    *,
    n: int = 4000,
    seed: int = 1,
    z: FloatArray = Z,
) -> FloatArray:
    return RandomPerturbations(SPACE, X, seed, distribution).draw(z, part, n)


@EVERY
def test_only_the_asked_features_are_perturbed(distribution: Distribution) -> None:
    moved = {part: (draw(part, distribution) != Z).any(axis=0).tolist() for part in PerturbedPart}
    assert moved[PerturbedPart.C] == [True, False, False, True, False]
    assert moved[PerturbedPart.K] == [False, True, False, False, False]
    assert moved[PerturbedPart.BOTH] == [True, True, False, True, False]


@EVERY
def test_both_is_the_one_beside_the_other(distribution: Distribution) -> None:
    changed = Z != X
    both = draw(PerturbedPart.BOTH, distribution)
    assert np.array_equal(both[:, changed], draw(PerturbedPart.C, distribution)[:, changed])
    assert np.array_equal(both[:, ~changed], draw(PerturbedPart.K, distribution)[:, ~changed])


def test_uniform_setbacks_fill_the_largest_one() -> None:
    wage = draw(PerturbedPart.C)[:, 0]
    assert 50 <= wage.min() < 50.1
    assert 59.9 < wage.max() <= 60
    assert wage.mean() == pytest.approx(55, abs=0.2)


def test_normal_setbacks_are_folded_normal_shares_of_the_largest_one() -> None:
    shares = (60 - draw(PerturbedPart.C, Distribution.NORMAL)[:, 0]) / 10
    assert shares.min() >= 0
    assert shares.mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), rel=0.05)
    assert np.mean(shares < 0.1) == pytest.approx(0.6827, abs=0.02)


def test_setbacks_are_scaled_from_the_capped_maximum() -> None:
    near = Z.copy()
    near[0] = 44  # 4 from x, where the largest decrease is 10
    wage = draw(PerturbedPart.C, z=near)[:, 0]
    assert wage.min() >= 40
    assert wage.mean() == pytest.approx(42, abs=0.1)  # drawing first and capping then would give 40.8


@EVERY
def test_categories_are_drawn_uniformly_from_the_set(distribution: Distribution) -> None:
    job = draw(PerturbedPart.C, distribution)[:, 3]
    assert set(job) == {0, 2}  # the present one, 2, among them
    assert np.mean(job == 2) == pytest.approx(0.5, abs=0.03)


@given(
    z=st.floats(-50, 50),
    x=st.floats(-50, 50),
    reach=st.tuples(st.floats(0, 80), st.floats(0, 80), st.booleans()),
    distribution=st.sampled_from(Distribution),
)
def test_setbacks_stay_between_z_and_x_and_kept_values_within_reach(
    z: float, x: float, reach: tuple[float, float, bool], distribution: Distribution
) -> None:
    perturbation = NumericalPerturbation(*reach)
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, -50, 50, perturbation=perturbation),))
    back = RandomPerturbations(space, np.array([x]), 0, distribution).draw(np.array([z]), PerturbedPart.C, 20)
    assert (min(z, x) <= back).all()
    assert (back <= max(z, x)).all()
    kept = RandomPerturbations(space, np.array([z]), 0, distribution).draw(np.array([z]), PerturbedPart.K, 20)
    scale = abs(z) if perturbation.relative else 1.0
    rounding = 1e-9
    assert (kept >= max(-50, z - perturbation.decrease * scale) - rounding).all()
    assert (kept <= min(50, z + perturbation.increase * scale) + rounding).all()
