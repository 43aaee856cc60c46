from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from cfbench import CellContext, FeatureSpace, FeatureSpec, Kind
from cfbench_metrics.k_robustness import KRobustness

MakeContext = Callable[..., CellContext]
MakeSearches = Callable[..., pd.DataFrame]
Values = Callable[..., list[float]]

X = (2, 1, 0)


def test_the_score_against_its_probability(context: MakeContext, searches: MakeSearches, values: Values) -> None:
    # Kept: debt 1, uniform on [0.5, 1.5]; the class holds while debt < 1.25.
    table = searches((X, (5.25, 1, 1)), (X, None))
    assert values(KRobustness(m=20_000), table, context()) == pytest.approx([0.75, math.nan], abs=0.01, nan_ok=True)
    assert values(KRobustness(), table, context()) == pytest.approx([0.75, math.nan], abs=0.05, nan_ok=True)


def test_constraints_play_no_part(context: MakeContext, searches: MakeSearches, values: Values) -> None:
    table = searches((X, (5.25, 1, 1)))
    assert values(KRobustness(), table, context()) == values(KRobustness(), table, context(constraints=False))


def test_the_score_is_1_where_no_kept_feature_can_move(
    context: MakeContext, searches: MakeSearches, values: Values
) -> None:
    assert values(KRobustness(), searches((X, (9, 0.5, 2))), context()) == [1.0]  # all three are changed
    still = FeatureSpace(tuple(FeatureSpec(name, Kind.NUMERICAL, 0, 10) for name in "abc"))
    assert values(KRobustness(), searches((X, (9, 1, 1))), context(space=still)) == [1.0]


def test_the_draws_hang_on_seed_and_point_alone(context: MakeContext, searches: MakeSearches, values: Values) -> None:
    z = (5.25, 1, 1)
    first, again, other = values(KRobustness(m=500), searches((X, z), (X, z), (X, z), row_ids=[3, 3, 4]), context())
    assert first == again
    assert first != other
    assert values(KRobustness(m=500), searches((X, z), row_ids=[3]), context(seed=43)) != [first]


def test_nothing_found_is_nothing_measured(context: MakeContext, searches: MakeSearches, values: Values) -> None:
    assert np.isnan(values(KRobustness(), searches((X, None)), context())).all()
