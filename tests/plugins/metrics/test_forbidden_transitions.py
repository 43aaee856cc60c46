"""Fixability where a category may not become that of the result again."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench_metrics.aftermath import can_walk_back

JOB = FeatureSpec("job", Kind.CATEGORICAL, 0, 2, ("none", "low", "high"))
SIZE = FeatureSpec("size", Kind.NUMERICAL, 0, 10)
FORBIDDEN = {"feature": "job", "from": "none", "to": ["high"]}


@pytest.mark.parametrize(("relations", "allowed"), [([], [True] * 4), ([FORBIDDEN], [True, False, True, True])])
def test_the_way_back_from_a_category_may_be_forbidden(relations: list[object], allowed: list[bool]) -> None:
    space = FeatureSpace((SIZE, JOB), relations)
    # Results with the job high, high, low and high; perturbed to high, none, none and low.
    Z = np.array([[[5.0, 2]], [[5, 2]], [[5, 1]], [[5, 2]]])
    perturbed = np.array([[[4.0, 2]], [[5, 0]], [[5, 0]], [[6, 1]]])
    assert can_walk_back(Z, perturbed, space)[:, 0].tolist() == allowed
