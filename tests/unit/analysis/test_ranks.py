from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cfbench.analysis.ranks import (
    Tolerance,
    equal_means,
    pair_advantages,
    point_ranks,
    rank_intervals,
    task_ranks,
    task_wins,
    unit_means,
)
from cfbench.errors import StudyError

INF = math.inf
EXACT = Tolerance(0)
USUAL = Tolerance()


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
    for tolerance in (EXACT, USUAL):
        assert task_ranks(losses, tolerance).tolist() == pytest.approx([5.5 / 3, 6.5 / 3, 7.5 / 3, 10.5 / 3])


def ranks_of(values: list[float], tolerance: Tolerance = USUAL) -> list[float]:
    return point_ranks(np.array(values)[:, np.newaxis], tolerance).ravel().tolist()


def test_a_group_ends_at_the_first_value_outside_the_tolerance_of_its_best() -> None:
    # The first group reaches to .1 + .0001: it holds .10008 and not .10016, which is within .0001 of .10008 alone.
    assert ranks_of([0.1, 0.10008, 0.10016]) == [1.5, 1.5, 3.0]
    # .10016 starts the next group, which reaches to .10026016: it holds .10024 and not .1003.
    assert ranks_of([0.1003, 0.10024, 0.10016, 0.10008, 0.1]) == [5.0, 3.5, 3.5, 1.5, 1.5]
    assert ranks_of([0.1, 0.10008, 0.10016], EXACT) == [1.0, 2.0, 3.0]


def test_the_larger_of_both_tolerances_decides() -> None:
    assert ranks_of([2.0, 2.0019, 2.0021]) == [1.5, 1.5, 3.0]  # 0.1 % of 2 is .002
    assert ranks_of([0.001, 0.00109, 0.00111]) == [1.5, 1.5, 3.0]  # 0.1 % of .001 is nothing: .0001 decides
    assert ranks_of([0.0, 0.00009, 0.00011, INF, INF]) == [1.5, 1.5, 3.0, 4.5, 4.5]
    assert ranks_of([0.1, 0.109, 0.111], Tolerance(0.1)) == [1.5, 1.5, 3.0]  # 10 % of .1, and .01


def grouped(values: list[float], tolerance: Tolerance) -> list[float]:
    """Rank one point's values in plain Python, as the decision says it."""
    left = sorted(range(len(values)), key=lambda i: values[i])
    ranks, placed = [0.0] * len(values), 0
    while left:
        best = values[left[0]]
        reach = best if best == INF else best + max(tolerance.relative * best, tolerance.absolute)
        group = [i for i in left if values[i] <= reach]
        for i in group:
            ranks[i] = placed + (len(group) + 1) / 2
        placed, left = placed + len(group), left[len(group) :]
    return ranks


@given(
    st.lists(st.one_of(st.floats(0.1, 0.1005), st.floats(0, 3), st.just(INF)), min_size=1, max_size=9),
    st.sampled_from([0.0, 0.0001, 0.001, 0.01, 0.9]),
)
def test_ranks_are_those_of_plain_python(values: list[float], relative: float) -> None:
    tolerance = Tolerance(relative)
    assert ranks_of(values, tolerance) == grouped(values, tolerance)
    assert sum(ranks_of(values, tolerance)) == len(values) * (len(values) + 1) / 2


def test_points_are_ranked_each_by_itself() -> None:
    values = np.array([[0.1, 0.3, INF], [0.10005, 0.2, INF], [0.2, 0.1, 0.5]])
    assert point_ranks(values, USUAL).tolist() == [[1.5, 3.0, 2.5], [1.5, 2.0, 2.5], [3.0, 1.0, 1.0]]


def test_pairs_are_compared_by_their_own_two_values() -> None:
    # .10008 ties with .1 and with .10016, which does not tie with .1: no third value has a say.
    advantages = pair_advantages(np.array([[0.1], [0.10008], [0.10016]]), USUAL)
    assert advantages.tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
    # Better at two points of four, worse at one, both without a result at the last.
    two = pair_advantages(np.array([[0.1, 0.1, 0.3, INF], [0.2, INF, 0.2, INF]]), USUAL)
    assert two.tolist() == [[0.0, 0.25], [-0.25, 0.0]]


def test_means_that_differ_in_their_last_bit_are_equal() -> None:
    means = np.array([0.1 + 0.2, 0.5, 0.3])
    assert means[0] != means[2]
    assert equal_means(means).tolist() == [0.3, 0.5, 0.3]


@pytest.mark.parametrize("wrong", [-0.001, 1, 1.5, math.nan, math.inf, -math.inf, "0.001", None, True])
def test_a_tolerance_that_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(StudyError, match="the tolerance for ties") as error:
        Tolerance(wrong)  # type: ignore[arg-type]
    assert f"is {wrong!r}; it must be a number from 0 (only equal values are ties) to below 1" in str(error.value)


def test_the_tolerance_says_what_it_is() -> None:
    assert str(USUAL) == "values within 0.1 % or 0.0001 of the best are ties"
    assert str(Tolerance(0.05)) == "values within 5 % or 0.005 of the best are ties"
    assert str(EXACT) == "only equal values are ties"


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


def test_units_are_means_of_their_tasks() -> None:
    assert unit_means(np.array([[1.0, 2.0, 5.0], [2.0, 4.0, 1.0]]), [0, 0, 1]).tolist() == [[1.5, 5.0], [3.0, 1.0]]


def test_a_tie_for_the_best_rank_is_a_win_of_both() -> None:
    ranks = np.array([[1.5, 1.0, 2.0], [1.5, 2.0, 1.0], [3.0, 3.0, 3.0]])
    assert task_wins(ranks, np.array([True] * 3)).tolist() == [2, 2, 0]


def test_nobody_wins_where_nobody_found_anything() -> None:
    ranks = np.array([[1.0, 1.5], [2.0, 1.5]])
    assert task_wins(ranks, np.array([True, False])).tolist() == [1, 0]


@pytest.mark.parametrize("text", ["abc", "0,1", "", "nan", "inf", "-1", "1"])
def test_a_tolerance_that_is_no_share_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(StudyError, match=r"--tie\) is .*must be a number from 0"):
        Tolerance.parse(text)


def test_a_tolerance_is_read_from_text() -> None:
    assert Tolerance.parse("0.01") == Tolerance(0.01)
    assert Tolerance.parse("0") == Tolerance(0)
