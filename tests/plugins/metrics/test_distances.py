"""The distances of the field's tables, against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench_metrics.distances import L1, L2, LInfinity, MadDistance, deviations
from tests.plugins.metrics.cells import SPACE, context, searches, values

X = (2, 1, 0)
# wage of [0, 10] moves by 4, debt of [0, 4] by 1, the job changes: .4, .25, 1
BOTH = searches((X, (6, 2, 1)), (X, (6, 1, 0)), (X, None))


def test_norms_of_the_scaled_change() -> None:
    assert values(L1(), BOTH, context()) == pytest.approx([1.65, 0.4, math.nan], nan_ok=True)
    assert values(L2(), BOTH, context()) == pytest.approx([math.sqrt(0.16 + 0.0625 + 1), 0.4, math.nan], nan_ok=True)
    assert values(LInfinity(), BOTH, context()) == pytest.approx([1, 0.4, math.nan], nan_ok=True)
    gower = SPACE.gower(np.array([(6.0, 2.0, 1.0)]), np.array(X, dtype=float))[0]
    assert values(L1(), BOTH, context())[0] == pytest.approx(3 * gower)


def test_a_change_weighs_by_the_median_absolute_deviation_of_the_training_rows() -> None:
    # Wages 1, 2, 4, 8, 9: median 4, deviations 3, 2, 0, 4, 5, of which the median is 3.
    # Debts 0, 1, 1, 1, 3: median 1, deviations 1, 0, 0, 0, 2: median 0, so their mean, .6.
    rows = [(1, 0, 0), (2, 1, 1), (4, 1, 2), (8, 1, 0), (9, 3, 1)]
    where = context(rows=rows, labels=[0, 0, 1, 1, 1])
    assert deviations(np.array(rows, dtype=float), SPACE).tolist() == pytest.approx([3, 0.6, 1])
    assert values(MadDistance(), BOTH, where) == pytest.approx([4 / 3 + 1 / 0.6 + 1, 4 / 3, math.nan], nan_ok=True)


def test_constant_features_and_empty_folds_have_the_length_of_the_interval() -> None:
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 8), FeatureSpec("b", Kind.NUMERICAL, -1, 1)))
    assert deviations(np.array([[3.0, 0.5], [3.0, -0.5]]), space).tolist() == [8.0, 0.5]
    assert deviations(np.empty((0, 2)), space).tolist() == [8.0, 2.0]


def test_only_the_training_fold_counts() -> None:
    where = context(rows=[(1, 0, 0), (3, 2, 1), (10, 4, 2)], labels=[0, 1, 1])
    fold = type(where)(where.dataset, np.array([0, 1]), np.array([2]), True, where.model, 42)
    assert values(MadDistance(), searches((X, (6, 1, 0))), fold) == [4.0]  # wages 1 and 3: deviation 1
