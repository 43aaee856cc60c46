"""K-neighbours: which features move, how far, and that the draws are keyed by position."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cfbench.robustness.draws import evaluation_keys, uniform_shares
from cfbench.robustness.neighbours import KNeighbours
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
        FeatureSpec("age", Kind.NUMERICAL, 0, 100, perturbation=NumericalPerturbation(2, 6)),
        FeatureSpec("debt", Kind.NUMERICAL, -1000, 1000, perturbation=NumericalPerturbation(0.1, 0.3, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("a", "b", "c", "d"), perturbation=CategoricalPerturbation((1, 3))),
        FeatureSpec("height", Kind.NUMERICAL, 0, 2),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes")),
    )
)
AGE, DEBT, JOB = 0, 1, 2
X = np.array([50.0, -200.0, 0.0, 1.5, 1.0])
M = 4000


def rows(*changes: dict[int, float]) -> FloatArray:
    """Copies of x with some features changed."""
    Z = np.tile(X, (len(changes), 1))
    for z, change in zip(Z, changes, strict=True):
        for feature, value in change.items():
            z[feature] = value
    return Z


def drawn(Z: FloatArray, distribution: Distribution = Distribution.UNIFORM) -> FloatArray:
    return KNeighbours(SPACE, X, stream=1, m=M, distribution=distribution).draw(Z)


def test_kept_features_move_within_their_reach_and_others_stay() -> None:
    neighbours = drawn(rows({}))[0]
    assert neighbours.shape == (M, 5)
    # Uniform on [50 - 2, 50 + 6] and on [-200 - 20, -200 + 60].
    assert stats.kstest(neighbours[:, AGE], "uniform", args=(48, 8)).pvalue > 0.001
    assert stats.kstest(neighbours[:, DEBT], "uniform", args=(-220, 80)).pvalue > 0.001
    codes, counts = np.unique(neighbours[:, JOB], return_counts=True)
    assert codes.tolist() == [1, 3]
    assert stats.chisquare(counts).pvalue > 0.001
    np.testing.assert_array_equal(neighbours[:, 3:], np.tile(X[3:], (M, 1)))


def test_changed_features_stay() -> None:
    neighbours = drawn(rows({AGE: 60.0}, {DEBT: 300.0, JOB: 2.0}))
    assert (neighbours[0, :, AGE] == 60).all()
    assert (neighbours[1, :, DEBT] == 300).all()
    assert (neighbours[1, :, JOB] == 2).all()
    assert len(np.unique(neighbours[1, :, AGE])) == M


def test_normal_perturbations_are_shares_of_the_largest_ones() -> None:
    neighbours = drawn(rows({}), Distribution.NORMAL)[0]
    moves = neighbours[:, AGE] - 50
    in_deviations = np.where(moves > 0, moves / 0.6, moves / 0.2)  # a tenth of 6 upwards, of 2 downwards
    assert stats.kstest(in_deviations, "norm").pvalue > 0.001
    assert (
        stats.kstest((neighbours[:, DEBT] + 200) * np.where(neighbours[:, DEBT] > -200, 1 / 6, 0.5), "norm").pvalue
        > 0.001
    )
    assert set(np.unique(neighbours[:, JOB])) == {1, 3}


def test_values_are_clipped_to_their_intervals() -> None:
    x = X.copy()
    x[[AGE, DEBT]] = 99.0, 1000.0
    neighbours = KNeighbours(SPACE, x, 1, M).draw(x[np.newaxis])[0]
    assert neighbours[:, AGE].max() == 100
    assert 0.5 < (neighbours[:, AGE] == 100).mean() < 0.75  # 5/8 of the moves pass the end
    assert neighbours[:, DEBT].max() == 1000


def test_a_draw_by_hand() -> None:
    shares = uniform_shares(evaluation_keys(77, 5, 1), 1, np.array([AGE, DEBT, JOB]))[0, 0]
    neighbour = KNeighbours(SPACE, X, 77, 1, first_evaluation=5).draw(X[np.newaxis])[0, 0]
    assert neighbour[AGE] == pytest.approx(50 - 2 + 8 * shares[AGE], rel=1e-15)
    assert neighbour[DEBT] == pytest.approx(-200 - 20 + 80 * shares[DEBT], rel=1e-15)
    assert neighbour[JOB] == (1 if shares[JOB] < 0.5 else 3)


@pytest.mark.parametrize("distribution", Distribution)
def test_rows_asked_together_have_the_draws_of_rows_asked_one_by_one(distribution: Distribution) -> None:
    Z = rows({}, {AGE: 60.0}, {JOB: 3.0})
    neighbours = KNeighbours(SPACE, X, 3, 8, distribution)
    together = neighbours.starting(10).draw(Z)
    for i in range(3):
        np.testing.assert_array_equal(neighbours.starting(10 + i).draw(Z[i : i + 1])[0], together[i])
        np.testing.assert_array_equal(neighbours.starting(10).draw(Z[i : i + 1], first=i)[0], together[i])
    more = KNeighbours(SPACE, X, 3, 20, distribution, first_evaluation=10).draw(Z)
    np.testing.assert_array_equal(more[:, :8], together)  # m takes draws away or adds some, and changes none
    assert not np.array_equal(neighbours.starting(11).draw(Z)[0, :, AGE], together[0, :, AGE])


def test_where_nothing_is_perturbed_neighbours_are_copies() -> None:
    space = FeatureSpace((FeatureSpec("height", Kind.NUMERICAL, 0, 2),))
    Z = np.array([[1.0], [1.5]])
    np.testing.assert_array_equal(KNeighbours(space, Z[0], 0, 3).draw(Z), np.repeat(Z[:, np.newaxis], 3, axis=1))


def test_no_candidates_have_no_neighbours() -> None:
    assert KNeighbours(SPACE, X, 0, 3).draw(np.empty((0, 5))).shape == (0, 3, 5)
