from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfbench.analysis.ranks import signed_rank_p


def test_six_differences_of_one_sign() -> None:
    assert signed_rank_p(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])) == pytest.approx(2 / 64)
    assert signed_rank_p(-np.ones(6)) == pytest.approx(2 / 64)  # all ties


def test_nothing_that_differs_is_nothing_to_tell_apart() -> None:
    assert signed_rank_p(np.zeros(8)) == 1.0
    assert signed_rank_p(np.array([])) == 1.0
    # Equal but for rounding.
    assert signed_rank_p(np.array([0.1 + 0.2 - 0.3, 0.0])) == 1.0


@given(st.lists(st.integers(-40, 40), min_size=3, max_size=14, unique_by=abs).filter(lambda values: 0 not in values))
def test_without_ties_it_is_scipys(values: list[int]) -> None:
    differences = np.array(values, dtype=float)
    assert signed_rank_p(differences) == pytest.approx(stats.wilcoxon(differences, method="exact").pvalue)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_with_ties_it_is_the_share_of_all_signs(values: list[int]) -> None:
    moved = [value for value in values if value]
    ranks = stats.rankdata(np.abs(moved)) if moved else np.zeros(0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(moved))
    ]
    seen = sum(rank for rank, value in zip(ranks, moved, strict=True) if value > 0)
    low, high = np.mean([total <= seen for total in sums]), np.mean([total >= seen for total in sums])
    assert signed_rank_p(np.array(values, dtype=float)) == pytest.approx(min(1.0, 2 * min(low, high)))
