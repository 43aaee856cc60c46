"""Metrics that hold a result against the one found without a robustness objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest

from cfbench import ComparisonContext, Dataset, FeatureSpace, Found
from cfbench_metrics.accidental_robustness import AccidentalRobustness
from cfbench_metrics.relative_cost import (
    CostOfRobustness,
    PublishedRelativeCost,
    RawRelativeCost,
    RelativeCost,
    TimeOfRobustness,
)
from tests.plugins.metrics.cells import SPACE

X = (2.0, 1.0, 0.0)


def context(space: FeatureSpace = SPACE) -> ComparisonContext:
    rows = np.array([X])
    dataset = Dataset("tiny", rows, np.array([0]), space, target=1, class_labels=("refused", "granted"))
    return ComparisonContext(lambda: dataset, constraints=True, seed=42)


def points(*results: Sequence[float] | None, measured: dict[str, Sequence[float]] | None = None, **more: Any) -> Found:
    columns: dict[str, Any] = {
        "row_id": range(len(results)),
        "x": [X] * len(results),
        "z": results,
        "loss": [None if z is None else 0.5 for z in results],
    }
    return Found.of_columns(columns | more, measured=lambda name: np.array((measured or {})[name], dtype=np.float64))


def matches(metric: AccidentalRobustness, z: Sequence[float], other: Sequence[float]) -> float:
    (found,) = metric.compare(points(z), points(other), context())
    return float(found)


@pytest.mark.parametrize(
    ("z", "other", "at"),  # at: the smallest of 1, 5 and 10 % that they match at; 0: at none
    [
        ((6, 1, 1), (6, 1, 1), 0.01),
        ((6, 1, 1), (6.1, 1, 1), 0.01),  # 0.1 of 10
        ((6, 1, 1), (6.4, 1, 1), 0.05),
        ((6, 2, 1), (6, 2.3, 1), 0.1),  # 0.3 of 4
        ((6, 1, 1), (7.1, 1, 1), 0),
        ((6, 1, 1), (6, 1, 2), 0),  # another category
    ],
)
def test_results_match_within_a_tolerance(z: Sequence[float], other: Sequence[float], at: float) -> None:
    for tolerance in (0.01, 0.05, 0.1):
        expected = float(at != 0 and tolerance >= at)
        for same in (True, False):
            metric = AccidentalRobustness(tolerance=tolerance, same_changes=same)
            assert matches(metric, z, other) == expected
            assert matches(metric, other, z) == expected


def test_the_two_readings_differ_where_another_feature_is_changed_a_little() -> None:
    z, other = (6, 1, 1), (6, 1.1, 1)  # the second changes debt, too
    assert matches(AccidentalRobustness(), z, other) == 0
    assert matches(AccidentalRobustness(same_changes=False), z, other) == 1


def test_a_point_that_either_side_did_not_solve_is_no_match_and_no_mismatch() -> None:
    z = (6, 1, 1)
    found = AccidentalRobustness().compare(points(z, None, z, None), points(z, z, None, None), context())
    assert found.tolist() == pytest.approx([1, math.nan, math.nan, math.nan], nan_ok=True)


def test_relative_cost_is_the_actual_cost_over_the_ideal_one() -> None:
    z = (6, 1, 1)
    for metric in (RelativeCost(), RawRelativeCost()):
        needed, _ = metric.needs()
        mine = points(z, None, z, z, z, measured={needed: [0.6, math.nan, math.nan, 0.6, 0.6]})
        ideal = points(z, z, z, None, z, loss=[0.3, 0.3, 0.3, math.nan, 0.0])
        found = metric.compare(mine, ideal, context()).tolist()
        assert found == pytest.approx([2, math.nan, math.nan, math.nan, math.nan], nan_ok=True)


def test_relative_costs_name_the_actual_cost_that_they_need() -> None:
    assert RelativeCost(part="ck", draws=10).needs() == (
        "actual-cost[part=ck,distribution=uniform,draws=10,over=all,l0=false,setbacks=normalised]",
        "unfixable[part=ck,distribution=uniform,draws=10]",
    )
    assert "over=fixable,l0=true,setbacks=raw" in RawRelativeCost(over="fixable", l0=True).needs()[0]


@pytest.mark.parametrize(("part", "expected"), [("c", 1 + 30 / 0.6), ("k", 1 + 0.2 / 0.6), ("ck", 1 + 30.2 / 0.6)])
def test_the_published_cost_is_a_sum_of_means_over_the_own_loss(part: Literal["c", "k", "ck"], expected: float) -> None:
    z = (6, 1, 1)
    metric = PublishedRelativeCost(part=part)
    of_c, of_k, lost = (text for one in ("c", "k") for text in PublishedRelativeCost(part=one).needs()[:-1])
    assert set(metric.needs()[:-1]) == {text for text in (of_c, of_k, lost) if part == "ck" or f"part={part}" in text}
    # The last point but one: no draw of K invalidates the result. The last one: nothing was measured.
    absent = math.nan
    mine = points(
        *(z, None, z, z),
        loss=[0.6, absent, 0.6, 0.6],
        measured={of_c: [30, absent, 30, absent], of_k: [0.2, absent, absent, absent], lost: [0.5, absent, 0, absent]},
    )
    none = points(z, z, z, z, loss=[0.3] * 4)
    without = 1 if part == "k" else 1 + 30 / 0.6
    found = metric.compare(mine, none, context()).tolist()
    assert found == pytest.approx([expected, absent, without, absent], nan_ok=True)


def test_where_only_invalidity_was_measured_the_published_cost_is_absent() -> None:
    over_invalidated, lost, _ = PublishedRelativeCost().needs()
    mine = points((6, 1, 1), loss=[0.6], measured={over_invalidated: [math.nan], lost: [0.5]})
    assert math.isnan(PublishedRelativeCost().compare(mine, mine, context())[0])


def test_what_accounting_for_robustness_costs() -> None:
    z = (6, 1, 1)
    mine = points(z, z, None, loss=[0.6, 0.2, math.nan], wall_seconds=[3, 1, math.nan])
    ideal = points(z, None, z, loss=[0.3, math.nan, 0.2], wall_seconds=[1, math.nan, 2])
    assert CostOfRobustness().compare(mine, ideal, context()).tolist() == pytest.approx(
        [2, math.nan, math.nan], nan_ok=True
    )
    assert TimeOfRobustness().compare(mine, ideal, context()).tolist() == pytest.approx(
        [2, math.nan, math.nan], nan_ok=True
    )
