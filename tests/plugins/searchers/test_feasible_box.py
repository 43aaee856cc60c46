from __future__ import annotations

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from cfbench_searchers.feasible_box import FeasibleBox
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, rng


def nowhere(Z: FloatArray) -> FloatArray:
    return np.zeros(len(Z))


@pytest.mark.parametrize("constraints", [False, True])
@pytest.mark.parametrize("respect_steps", [False, True])
def test_samples_are_feasible(constraints: bool, respect_steps: bool) -> None:
    problem = SpiedProblem(MIXED, MIXED_X, nowhere, constraints=constraints, respect_steps=respect_steps)
    Z = FeasibleBox(problem).sample(5000, rng())
    assert problem.is_feasible(Z).all()
    assert set(np.unique(Z[:, 4])) == {0, 1, 2, 3}
    assert set(np.unique(Z[:, 5])) == ({1} if constraints else {0, 1})
    if respect_steps:
        assert set(np.unique(Z[:, 0])) == set(range(40 if constraints else 18, 91))


def test_samples_are_uniform() -> None:
    Z = FeasibleBox(SpiedProblem(MIXED, MIXED_X, nowhere)).sample(40_000, rng())
    # Income is uniform on [-500, 20000]: mean 9750, deviation of a mean of 40,000 draws 20500 / sqrt(12) / 200 = 29.6.
    assert abs(Z[:, 1].mean() - 9750) < 4 * 29.6
    # A category of four has probability 1/4: deviation of its count sqrt(40000 * 3/16) = 86.6.
    assert np.all(np.abs(np.bincount(Z[:, 4].astype(int)) - 10_000) < 4 * 86.6)


def test_nearest_clips_rounds_categories_and_leaves_feasible_points_alone() -> None:
    box = FeasibleBox(SpiedProblem(MIXED, MIXED_X, nowhere, constraints=True))
    far = np.array([33.3, 20_001.0, 1.0, 2.0, 2.6, 0.0, -4.0, 0.4])
    assert box.nearest(far).tolist() == [40.0, 20_000.0, 5e-4, 1.75, 3.0, 1.0, 0.0, 0.0]
    assert box.nearest(MIXED_X).tolist() == MIXED_X.tolist()
    single = box.nearest(np.array([33.3, 2.6]), np.array([0, 4]))
    assert single.tolist() == [40.0, 3.0]


def test_nearest_keeps_steps_where_they_hold() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, -0.7, 7.9, step=2.0),))
    free = FeasibleBox(SpiedProblem(space, [2.0], nowhere))
    box = FeasibleBox(SpiedProblem(space, [2.0], nowhere, respect_steps=True))
    Z = np.array([[-0.7], [0.9], [1.1], [7.9]])
    assert free.nearest(Z).ravel().tolist() == [-0.7, 0.9, 1.1, 7.9]
    assert box.nearest(Z).ravel().tolist() == [0.0, 0.0, 2.0, 6.0]


def test_another_meets_every_other_category_equally_often() -> None:
    box = FeasibleBox(SpiedProblem(MIXED, MIXED_X, nowhere))
    shares = (np.arange(300) + 0.5) / 300
    for code, others in enumerate(([1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2])):
        drawn = box.another(np.full(300, float(code)), np.full(300, 4), shares)
        assert np.bincount(drawn.astype(int), minlength=4)[others].tolist() == [100, 100, 100]


def test_another_leaves_the_only_feasible_category() -> None:
    box = FeasibleBox(SpiedProblem(MIXED, MIXED_X, nowhere, constraints=True))
    shares = np.linspace(0, 1, 50, endpoint=False)
    assert set(box.another(np.full(50, 1.0), np.full(50, 5), shares)) == {1.0}
    assert set(box.another(np.full(50, 0.0), np.full(50, 7), shares)) == {0.0}


def test_a_factual_value_off_the_grid_that_may_not_change_raises_nothing() -> None:
    off_grid = MIXED_X.copy()
    off_grid[0] = 89.5
    problem = SpiedProblem(MIXED, off_grid, nowhere, constraints=True, respect_steps=True)
    assert set(FeasibleBox(problem).sample(10, rng())[:, 0]) == {90.0}
