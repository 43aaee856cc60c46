from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfbench.analysis.ranks import BOOTSTRAPS, rank_intervals, task_ranks, task_wins, unit_means

INF = math.inf


def test_ties_share_the_mean_and_not_found_ranks_last() -> None:
    losses = np.array(
        [
            [0.1, 0.2, INF],
            [0.1, 0.3, INF],
            [0.2, INF, 0.9],
            [0.3, INF, INF],
        ]
    )
    # Point 1: 1.5 1.5 3 4; point 2: 1 2 3.5 3.5; point 3: 3 3 1 3.
    assert task_ranks(losses).tolist() == pytest.approx([5.5 / 3, 6.5 / 3, 7.5 / 3, 10.5 / 3])


@given(st.lists(st.lists(st.sampled_from([0.1, 0.2, 0.3, INF]), min_size=4, max_size=4), min_size=1, max_size=5))
def test_ranks_are_scipys(losses: list[list[float]]) -> None:
    table = np.array(losses)
    assert task_ranks(table) == pytest.approx(stats.rankdata(table, axis=0).mean(axis=1))


def test_the_bootstrap_meets_a_closed_case() -> None:
    # A searcher with rank 2 in 3 of 10 tasks and rank 1 in the others: ten times the mean of a resample, less 10, is a
    # binomial number of 10 draws at 0.3, whose 2.5 and 97.5 percentiles are 0 (P(0) = 0.028) and 6 (P(<= 5) = 0.953).
    ranks = np.array([[1.0] * 7 + [2.0] * 3])
    low, high = (stats.binom.ppf(share, 10, 0.3) for share in (0.025, 0.975))
    assert (low, high) == (0, 6)
    assert rank_intervals(ranks, range(10)).tolist() == [[1 + low / 10, 1 + high / 10]]


def test_tasks_of_one_unit_are_drawn_together() -> None:
    # Two units whose tasks are equal inside: a resample is one of them twice (1/4 each) or both (1/2).
    ranks = np.array([[1.0, 1.0, 1.0, 3.0]])
    assert rank_intervals(ranks, [0, 0, 0, 1]).tolist() == [[1.0, 3.0]]
    # As single tasks, 1 in 256 resamples has the rank 3 alone, and the interval is narrower.
    low, high = rank_intervals(ranks, range(4))[0]
    assert (low, high) == (1.0, 2.5)


def test_intervals_are_the_same_each_time_and_hold_the_mean() -> None:
    ranks = np.random.default_rng(1).uniform(1, 5, size=(4, 20))
    first, second = rank_intervals(ranks, range(20)), rank_intervals(ranks, range(20))
    assert first.tolist() == second.tolist()
    assert BOOTSTRAPS == 2000
    means = ranks.mean(axis=1)
    assert np.all((first[:, 0] < means) & (means < first[:, 1]))
    # A normal interval says nearly the same.
    half = 1.96 * ranks.std(axis=1) / math.sqrt(20)
    assert first[:, 1] - means == pytest.approx(half, rel=0.15)


def test_units_are_means_of_their_tasks() -> None:
    assert unit_means(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0]]), [0, 0, 1]).tolist() == [[1.5, 5.0], [3.0, 1.0]]


def test_a_tie_for_the_best_rank_is_a_win_of_both() -> None:
    ranks = np.array([[1.5, 1.0, 2.0], [1.5, 2.0, 1.0], [3.0, 3.0, 3.0]])
    assert task_wins(ranks, np.array([True] * 3)).tolist() == [2, 2, 0]


def test_nobody_wins_where_nobody_found_anything() -> None:
    ranks = np.array([[1.0, 1.5], [2.0, 1.5]])
    assert task_wins(ranks, np.array([True, False])).tolist() == [1, 0]
