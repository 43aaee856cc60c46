from __future__ import annotations

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, rng


def nowhere(Z: FloatArray) -> FloatArray:
    return np.zeros(len(Z))


@pytest.mark.parametrize("constraints", [False, True])
@pytest.mark.parametrize("respect_steps", [False, True])
def test_samples_are_feasible(constraints: bool, respect_steps: bool) -> None:
    problem = SpiedProblem(MIXED, MIXED_X, nowhere, constraints=constraints, respect_steps=respect_steps)
    Z = problem.sample(5000, rng())
    assert problem.is_feasible(Z).all()
    assert set(np.unique(Z[:, 4])) == {0, 1, 2, 3}
    assert set(np.unique(Z[:, 5])) == ({1} if constraints else {0, 1})
    if respect_steps:
        assert set(np.unique(Z[:, 0])) == set(range(40 if constraints else 18, 91))


def test_samples_are_uniform() -> None:
    Z = SpiedProblem(MIXED, MIXED_X, nowhere).sample(40_000, rng())
    # Income is uniform on [-500, 20000]: mean 9750, deviation of a mean of 40,000 draws 20500 / sqrt(12) / 200 = 29.6.
    assert abs(Z[:, 1].mean() - 9750) < 4 * 29.6
    # A category of four has probability 1/4: deviation of its count sqrt(40000 * 3/16) = 86.6.
    assert np.all(np.abs(np.bincount(Z[:, 4].astype(int)) - 10_000) < 4 * 86.6)


def test_nearest_clips_rounds_categories_and_leaves_feasible_points_alone() -> None:
    box = SpiedProblem(MIXED, MIXED_X, nowhere, constraints=True).box
    far = np.array([33.3, 20_001.0, 1.0, 2.0, 2.6, 0.0, -4.0, 0.4])
    assert box.nearest(far).tolist() == [40.0, 20_000.0, 5e-4, 1.75, 3.0, 1.0, 0.0, 0.0]
    assert box.nearest(MIXED_X).tolist() == MIXED_X.tolist()
    single = box.nearest(np.array([33.3, 2.6]), np.array([0, 4]))
    assert single.tolist() == [40.0, 3.0]


def test_nearest_keeps_steps_where_they_hold() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, -0.7, 7.9, step=2.0),))
    free = SpiedProblem(space, [2.0], nowhere).box
    box = SpiedProblem(space, [2.0], nowhere, respect_steps=True).box
    Z = np.array([[-0.7], [0.9], [1.1], [7.9]])
    assert free.nearest(Z).ravel().tolist() == [-0.7, 0.9, 1.1, 7.9]
    assert box.nearest(Z).ravel().tolist() == [0.0, 0.0, 2.0, 6.0]


def test_another_meets_every_other_category_equally_often() -> None:
    box = SpiedProblem(MIXED, MIXED_X, nowhere).box
    shares = (np.arange(300) + 0.5) / 300
    for code, others in enumerate(([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])):
        drawn = box.another(np.full(300, float(code)), np.full(300, 4), shares)
        assert np.bincount(drawn.astype(int), minlength=4)[others].tolist() == [100, 100, 100]


def test_another_leaves_the_only_feasible_category() -> None:
    box = SpiedProblem(MIXED, MIXED_X, nowhere, constraints=True).box
    shares = np.linspace(0, 1, 50, endpoint=False)
    assert set(box.another(np.full(50, 1.0), np.full(50, 5), shares)) == {1.0}
    assert set(box.another(np.full(50, 0.0), np.full(50, 7), shares)) == {0.0}


def test_a_factual_value_off_the_grid_that_may_not_change_raises_nothing() -> None:
    off_grid = MIXED_X.copy()
    off_grid[0] = 89.5
    problem = SpiedProblem(MIXED, off_grid, nowhere, constraints=True, respect_steps=True)
    assert set(problem.sample(10, rng())[:, 0]) == {90.0}


def test_the_value_of_x_stands_for_its_multiple_to_the_bit() -> None:
    # 3 * 0.1 is 0.30000000000000004, and 0.6 / 0.2 is less than 3.
    space = FeatureSpace(
        (FeatureSpec("rate", Kind.NUMERICAL, 0, 1, step=0.1), FeatureSpec("share", Kind.NUMERICAL, 0.2, 0.6, step=0.2))
    )
    problem = SpiedProblem(space, [0.3, 0.6], nowhere, respect_steps=True)
    assert problem.project(problem.x).tolist() == [0.3, 0.6]
    assert problem.project(np.array([[0.26, 0.55], [0.34, 9.0], [0.36, 0.29]])).tolist() == [
        [0.3, 0.6],
        [0.3, 0.6],
        [0.4, 0.2],
    ]
    Z = problem.sample(2000, rng())
    assert problem.is_feasible(Z).all()
    assert len(np.unique(Z[:, 0])) == 11
    assert sorted(set(Z[:, 1])) == [0.2, 0.4, 0.6]
    assert (Z[:, 0] == 0.3).any()


@pytest.mark.parametrize("constraints", [False, True])
@pytest.mark.parametrize("respect_steps", [False, True])
def test_no_feasible_row_is_nearer_than_the_projection(constraints: bool, respect_steps: bool) -> None:
    problem = SpiedProblem(MIXED, MIXED_X, nowhere, constraints=constraints, respect_steps=respect_steps)
    wide = MIXED.lower + (rng(1).random((50, MIXED.d)) * 3 - 1) * np.maximum(MIXED.upper - MIXED.lower, 1)
    nearest = problem.project(wide)
    assert problem.is_feasible(nearest).all()
    assert problem.project(nearest).tolist() == nearest.tolist()
    # Per feature no feasible value is nearer, so no row is: the distance is a sum over the features.
    others = problem.sample(20_000, rng(2))
    for row, found in zip(wide, nearest, strict=True):
        assert (np.abs(found - row) <= np.abs(others - row).min(axis=0)).all()
