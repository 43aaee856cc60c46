from __future__ import annotations

import math

import pytest

from cfbench.analysis.aggregate import (
    Median,
    Rate,
    median_of,
    rate,
    spending,
)
from cfbench.analysis.board import make_board
from cfbench.analysis.groups import group_cells
from tests.toys.cells import REGISTRY, cell


def test_rates_are_means_over_folds_not_over_points() -> None:
    # 1/2 and 3/3: the mean of the folds is 3/4, although 4 of 5 points are solved
    assert rate([(1, 2), (3, 3)]) == Rate(mean=0.75, sd=0.25, k=4, n=5)


def test_a_rate_of_one_fold_has_no_deviation_and_one_of_nothing_no_value() -> None:
    assert rate([(1, 2)]) == Rate(0.5, None, 1, 2)
    assert rate([(1, 2), (0, 0)]) == Rate(0.5, None, 1, 2)
    assert rate([(0, 0)]) == Rate(None, None, 0, 0)
    assert rate([]) == Rate(None, None, 0, 0)


def test_a_median_counts_only_what_is_there() -> None:
    assert median_of([0.5, None, 0.125, math.nan], 6) == Median(0.3125, 2, 6)
    assert median_of([None], 1) == Median(None, 0, 1)


def test_success_is_a_point_solved_in_any_repetition() -> None:
    cells = [
        cell([0.1, 0.2, None], tries=2, successes=(2, 1, 0)),
        cell([0.4], tries=2, fold=1, successes=(2,)),
        cell(fold=2, failure="no model"),
    ]
    (row,) = make_board(cells, REGISTRY).rows
    # points: 2/3 and 1/1; searches: 3/6 and 2/2
    assert (row.success.mean, row.success.sd) == pytest.approx((5 / 6, 1 / 6))
    assert (row.success.k, row.success.n) == (3, 4)
    assert row.search_success == Rate(0.75, 0.25, 5, 8)
    assert row.loss == Median(0.2, 3, 4)


def test_shared_points_are_judged_alike() -> None:
    first, second = make_board([cell([0.1, 0.9, None]), cell([0.2, None, 0.3], searcher="lore")], REGISTRY).rows
    assert (first.shared_loss, second.shared_loss) == (Median(0.1, 1, 3), Median(0.2, 1, 3))


def test_spending_is_a_mean_over_all_searches() -> None:
    (group,) = group_cells(
        [
            cell([0.1, None], wall_seconds=6.0, search_queries=300, robustness_queries=30),
            cell([0.1, 0.2], fold=1, wall_seconds=4.0, search_queries=100, robustness_queries=10),
        ]
    )
    found = spending(group.ran)
    assert (found.searches, found.seconds, found.search_queries, found.robustness_queries) == (4, 2.5, 100.0, 10.0)
    assert found.queries == 110.0


def test_a_killed_search_counts_with_its_time_and_not_with_0_rows() -> None:
    losses = [0.1, None, 0.2]
    one_killed = {"found": 2, "timed_out": 1}
    (group,) = group_cells([cell(losses, wall_seconds=6.0, search_queries=300, statuses=one_killed)])
    found = spending(group.ran)
    assert (found.searches, found.seconds, found.search_queries) == (3, 2.0, 150.0)
    (group,) = group_cells([cell([None], wall_seconds=6.0, statuses={"timed_out": 1})])
    assert (spending(group.ran).seconds, spending(group.ran).queries) == (6.0, None)


def test_nothing_spent_is_not_zero() -> None:
    (group,) = group_cells([cell(skipped="no")])
    assert (spending(group.ran).searches, spending(group.ran).seconds, spending(group.ran).queries) == (0, None, None)
