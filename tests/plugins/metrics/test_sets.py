"""Metrics of sets of counterfactuals, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cfbench import Found, Metric
from cfbench.space import FloatArray
from cfbench_metrics.k_robustness import KRobustness
from cfbench_metrics.sets import Diversity, Hypervolume, SetCoverage, SetSize, dominated_area
from tests.plugins.metrics.cells import SPACE, context, values

X = (2.0, 1.0, 0.0)
Rows = Sequence[tuple[float, float, float]]
# Class 1 where wage - debt > 4 and the job is not a (0); the first row below is invalid, the others are valid.
SET: Rows = ((4, 1, 1), (6, 1, 1), (7, 1, 1), (6, 1, 2), (9, 3, 2))


def searches(*sets: Rows, row_ids: Sequence[int] = ()) -> Found:
    """Make searches with these candidates, of which the second one is the result; no candidates: nothing found."""
    where = context()
    columns: dict[str, Sequence[Any]] = {
        "row_id": row_ids or [7] * len(sets),
        "x": [X] * len(sets),
        "z": [one[1] if one else None for one in sets],
        "candidates": sets,
        "loss": [0.5 if one else None for one in sets],
    }
    return Found.of_columns(columns, is_valid=where.is_valid)


def measured(metric: Metric, *sets: Rows) -> list[float]:
    return values(metric, searches(*sets), context())


def test_the_valid_rows_are_seen_and_all_are_kept() -> None:
    found = searches(SET, ())
    assert [Z.tolist() for Z in found.sets] == [[list(row) for row in SET[1:]], []]
    assert found.candidates[0].tolist() == [list(row) for row in SET]
    unconstrained = context(constraints=False).is_valid(np.array([(0.0, 1.0, 1.0), (7.0, 1.0, 1.0)]), np.array(X))
    assert unconstrained.tolist() == [False, True]


def test_a_fall_of_a_wage_that_may_only_grow_makes_a_row_invalid() -> None:
    x, Z = np.array((6.5, 1.0, 0.0)), np.array([(6.0, 1.0, 1.0), (7.0, 1.0, 1.0)])
    assert context().is_valid(Z, x).tolist() == [False, True]
    assert context(constraints=False).is_valid(Z, x).tolist() == [True, True]


def test_a_record_without_candidates_has_sets_of_one_row() -> None:
    columns: dict[str, Sequence[Any]] = {"row_id": [7], "x": [X], "z": [SET[1]], "candidates": [[]], "loss": [0.5]}
    found = Found.of_columns(columns, is_valid=context().is_valid)
    assert found.sets[0].tolist() == [list(SET[1])]
    assert values(SetSize(), found, context()) == [1.0]


def test_set_size() -> None:
    assert measured(SetSize(), SET, (), SET[:2], (*SET, SET[1])) == pytest.approx([4, math.nan, 1, 4], nan_ok=True)


def test_diversity() -> None:
    # Gower distances of the four valid rows: of (6,1,1) to (7,1,1) .1/3, to (6,1,2) 1/3, to (9,3,2) (.3 + .5 + 1)/3;
    # of (7,1,1) to (6,1,2) (.1 + 1)/3, to (9,3,2) (.2 + .5 + 1)/3; of (6,1,2) to (9,3,2) (.3 + .5)/3.
    mean = (0.1 + 1 + 1.8 + 1.1 + 1.7 + 0.8) / 3 / 6
    assert measured(Diversity(), SET, (), SET[:2], SET[:3]) == pytest.approx([mean, math.nan, 0, 0.1 / 3], nan_ok=True)


def test_set_coverage() -> None:
    # Changed: wage and job, the same, the same, all three: two sets of features by four rows.
    assert measured(SetCoverage(), SET, (), SET[:2]) == pytest.approx([2 / 4, math.nan, 1], nan_ok=True)


@pytest.mark.parametrize(
    ("first", "second", "area"),
    [
        ([0.25], [0.5], 0.75 * 0.5),
        ([0.25, 0.5], [0.5, 0.25], 0.75 * 0.5 + 0.5 * 0.25),
        ([0.5, 0.25], [0.25, 0.5], 0.75 * 0.5 + 0.5 * 0.25),  # whatever the order
        ([0.25, 0.5], [0.5, 0.75], 0.75 * 0.5),  # the second is dominated
        ([0.25, 0.25], [0.5, 0.25], 0.75 * 0.75),  # the first is
        ([0.25, 0.25], [0.5, 0.5], 0.75 * 0.5),  # equal ones count once
        ([0.0, 1.0], [1.0, 0.0], 0.0),  # both lie on the edge
        ([0.0], [0.0], 1.0),
    ],
)
def test_dominated_areas(first: Sequence[float], second: Sequence[float], area: float) -> None:
    assert dominated_area(np.array(first), np.array(second)) == pytest.approx(area)


def test_hypervolume_is_the_area_by_loss_and_k_score() -> None:
    # A single row: (1 - loss) * score, with the score that k-robustness gives it.
    single: Rows = ((4, 1, 1), (5.25, 1, 1))
    (score,) = measured(KRobustness(), single)
    assert 0.5 < score < 1
    loss = 0.5 * (3.25 / 10 + 1) / 3 + 0.5 * 2 / 3
    assert measured(Hypervolume(), single, ()) == pytest.approx([(1 - loss) * score, math.nan], nan_ok=True)
    # (9, 0.5, 2) changes all features, so that its score is 1: it adds what its loss leaves above the other's score.
    both: Rows = (*single, (9, 0.5, 2))
    dear = 0.5 * (0.7 + 0.125 + 1) / 3 + 0.5
    expected = (1 - loss) * score + (1 - dear) * (1 - score)
    assert measured(Hypervolume(), both) == pytest.approx([expected])
    assert SPACE.cost(np.array(both[1:]), np.array(X)).tolist() == pytest.approx([loss, dear])


def test_hypervolume_takes_the_draws_of_k_robustness_for_every_row() -> None:
    few: FloatArray = np.array(measured(KRobustness(m=20), ((4, 1, 1), (5.25, 1, 1))))
    loss = float(SPACE.cost(np.array([(5.25, 1.0, 1.0)]), np.array(X))[0])
    twice: Rows = ((4, 1, 1), (5.25, 1, 1), (5.25, 1, 1))
    assert measured(Hypervolume(m=20), twice) == pytest.approx([(1 - loss) * float(few[0])])
