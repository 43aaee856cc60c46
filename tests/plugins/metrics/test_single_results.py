"""What is true of single results: redundancy, how usual they look in the training data, K-robustness."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from cfbench import CellContext, FeatureSpace, FeatureSpec, Kind
from cfbench_metrics.judged import Redundancy
from cfbench_metrics.k_robustness import KRobustness
from cfbench_metrics.plausibility import KnnDistance, LofInlier, _flat
from tests.plugins.metrics.cells import SPACE, context, searches, values

X = (2, 1, 0)


@pytest.mark.parametrize(
    ("z", "redundant"),
    [
        ((6, 1, 1), 0),  # wage and job are both needed
        ((6, 0.5, 1), 1),  # 6 - 1 > 4 without the change of debt
        ((4.75, 0.5, 1), 0),  # all three are needed
        ((2, 1, 0), 0),  # nothing is changed
    ],
)
def test_changes_that_are_not_needed(z: Sequence[float], redundant: int) -> None:
    assert values(Redundancy(), searches((X, z), (X, None)), context()) == pytest.approx(
        [redundant, math.nan], nan_ok=True
    )


def test_several_redundant_changes_count_each() -> None:
    # From (9, 3, 1): each of wage -> 7.5, debt -> 2.5, job -> 2 can be left out, the others kept.
    assert values(Redundancy(), searches(((9, 3, 1), (7.5, 2.5, 2))), context()) == [3.0]


def test_distance_to_the_nearest_target_rows_by_hand() -> None:
    rows = [(6, 1, 1), (8, 1, 1), (6, 3, 2), (2, 1, 0)]
    where = context(rows=rows, labels=[1, 1, 1, 0])
    table = searches((X, (6, 1, 1)), (X, None))
    # 0, 0.2 / 3, (0.5 + 1) / 3; the last row is of the other class
    expected = {1: 0.0, 2: 0.1 / 3, 3: (0.2 + 1.5) / 9, 50: (0.2 + 1.5) / 9}
    for neighbours, distance in expected.items():
        found = values(KnnDistance(neighbours=neighbours), table, where)
        assert found == pytest.approx([distance, math.nan], nan_ok=True)


def test_only_training_rows_count() -> None:
    where = context(rows=[(6, 1, 1), (8, 1, 1)], labels=[1, 1])
    only_second = CellContext(where.dataset, np.array([1]), np.array([0]), True, where.model, 42)
    assert values(KnnDistance(), searches((X, (6, 1, 1))), only_second) == pytest.approx([0.2 / 3])


def test_without_target_rows_there_is_no_distance() -> None:
    table = searches((X, (6, 1, 1)))
    assert np.isnan(values(KnnDistance(), table, context())).all()
    assert np.isnan(values(LofInlier(), table, context())).all()


def test_flat_coordinates_measure_gower() -> None:
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.uniform(0, 10, 20), rng.uniform(0, 4, 20), rng.integers(0, 3, 20)])
    flat = _flat(Z, SPACE)
    manhattan = np.abs(flat[1:] - flat[0]).sum(axis=1)
    assert manhattan == pytest.approx(SPACE.d * SPACE.gower(Z[1:], Z[0]))


def test_inliers_and_outliers() -> None:
    rng = np.random.default_rng(1)
    cloud = np.column_stack([rng.uniform(6, 7, 40), rng.uniform(1, 1.4, 40), np.ones(40)])
    rows = np.vstack([cloud, cloud[:1].repeat(30, axis=0)])  # copies of a row change nothing
    where = context(rows=rows.tolist(), labels=[1] * 70)
    table = searches((X, (6.5, 1.2, 1)), (X, (10, 4, 2)), (X, None))
    assert values(LofInlier(), table, where) == pytest.approx([1, 0, math.nan], nan_ok=True)
    assert np.isnan(values(LofInlier(neighbours=40), table, where)).all()


def test_the_score_against_its_probability() -> None:
    # Kept: debt 1, uniform on [0.5, 1.5]; the class holds while debt < 1.25.
    table = searches((X, (5.25, 1, 1)), (X, None))
    assert values(KRobustness(m=20_000), table, context()) == pytest.approx([0.75, math.nan], abs=0.01, nan_ok=True)
    assert values(KRobustness(), table, context()) == pytest.approx([0.75, math.nan], abs=0.05, nan_ok=True)


def test_constraints_play_no_part() -> None:
    table = searches((X, (5.25, 1, 1)))
    assert values(KRobustness(), table, context()) == values(KRobustness(), table, context(constraints=False))


def test_the_score_is_1_where_no_kept_feature_can_move() -> None:
    assert values(KRobustness(), searches((X, (9, 0.5, 2))), context()) == [1.0]  # all three are changed
    still = FeatureSpace(tuple(FeatureSpec(name, Kind.NUMERICAL, 0, 10) for name in "abc"))
    assert values(KRobustness(), searches((X, (9, 1, 1))), context(space=still)) == [1.0]


def test_the_draws_hang_on_seed_and_point_alone() -> None:
    z = (5.25, 1, 1)
    first, again, other = values(KRobustness(m=500), searches((X, z), (X, z), (X, z), row_ids=[3, 3, 4]), context())
    assert first == again
    assert first != other
    assert values(KRobustness(m=500), searches((X, z), row_ids=[3]), context(seed=43)) != [first]
