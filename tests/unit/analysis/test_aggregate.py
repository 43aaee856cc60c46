from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfbench.analysis.aggregate import (
    Median,
    Rate,
    median_of,
    own_loss,
    rate,
    search_success_rate,
    shared_loss,
    solved,
    spending,
    statuses,
    success_rate,
)
from cfbench.analysis.groups import group_cells

if TYPE_CHECKING:
    from tests.unit.analysis.conftest import MakeCell


def test_rates_are_means_over_folds_not_over_points() -> None:
    # 1/2 and 3/3: the mean of the folds is 3/4, although 4 of 5 points are solved
    assert rate([(1, 2), (3, 3)]) == Rate(mean=0.75, sd=0.25, k=4, n=5)


def test_a_rate_of_one_fold_has_no_deviation_and_one_of_nothing_no_value() -> None:
    assert rate([(1, 2)]) == Rate(0.5, None, 1, 2)
    assert rate([(1, 2), (0, 0)]) == Rate(0.5, None, 1, 2)
    assert rate([(0, 0)]) == Rate(None, None, 0, 0)
    assert rate([]) == Rate(None, None, 0, 0)


@given(st.lists(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=6))
def test_rates_agree_with_numpy(counts: list[tuple[int, int]]) -> None:
    shares = np.array([k / n for k, n in counts])
    found = rate(counts)
    assert found.mean == pytest.approx(shares.mean())
    assert found.sd == pytest.approx(shares.std(ddof=0), abs=1e-12)


def test_a_median_counts_only_what_is_there() -> None:
    assert median_of([0.5, None, 0.125, math.nan], 6) == Median(0.3125, 2, 6)
    assert median_of([None], 1) == Median(None, 0, 1)


def test_success_is_a_point_solved_in_any_repetition(cell: MakeCell) -> None:
    (group,) = group_cells(
        [
            cell([0.1, 0.2, None], tries=2, successes=(2, 1, 0)),
            cell([0.4], tries=2, fold=1, successes=(2,)),
            cell(fold=2, failure="no model"),
        ]
    )
    # points: 2/3 and 1/1; searches: 3/6 and 2/2
    of_points = success_rate(group)
    assert (of_points.mean, of_points.sd) == pytest.approx((5 / 6, 1 / 6))
    assert (of_points.k, of_points.n) == (3, 4)
    assert search_success_rate(group) == Rate(0.75, 0.25, 5, 8)
    assert own_loss(group) == Median(0.2, 3, 4)


def test_shared_points_are_judged_alike(cell: MakeCell) -> None:
    first, second = group_cells([cell([0.1, 0.9, None]), cell([0.2, None, 0.3], searcher="lore")])
    shared = solved(first) & solved(second)
    assert shared == {(0, 0)}
    assert shared_loss(first, shared) == Median(0.1, 1, 3)
    assert shared_loss(second, shared) == Median(0.2, 1, 3)


def test_spending_is_a_mean_over_all_searches(cell: MakeCell) -> None:
    (group,) = group_cells(
        [
            cell([0.1, None], wall_seconds=6.0, search_queries=300, robustness_queries=30),
            cell([0.1, 0.2], fold=1, wall_seconds=4.0, search_queries=100, robustness_queries=10),
        ]
    )
    found = spending(group.ran)
    assert (found.searches, found.seconds, found.search_queries, found.robustness_queries) == (4, 2.5, 100.0, 10.0)
    assert found.queries == 110.0


def test_a_killed_search_counts_with_its_time_and_not_with_0_rows(cell: MakeCell) -> None:
    losses = [0.1, None, 0.2]
    one_killed = {"found": 2, "timed_out": 1}
    (group,) = group_cells([cell(losses, wall_seconds=6.0, search_queries=300, statuses=one_killed)])
    found = spending(group.ran)
    assert (found.searches, found.seconds, found.search_queries) == (3, 2.0, 150.0)
    (group,) = group_cells([cell([None], wall_seconds=6.0, statuses={"timed_out": 1})])
    assert (spending(group.ran).seconds, spending(group.ran).queries) == (6.0, None)


def test_nothing_spent_is_not_zero(cell: MakeCell) -> None:
    (group,) = group_cells([cell(skipped="no")])
    assert (spending(group.ran).searches, spending(group.ran).seconds, spending(group.ran).queries) == (0, None, None)


def test_statuses_add_up(cell: MakeCell) -> None:
    (group,) = group_cells([cell(statuses={"found": 2, "crashed": 1}), cell(fold=1, statuses={"found": 3})])
    assert statuses(group.ran) == {"crashed": 1, "found": 5}
