"""The shipped metrics against numbers worked out by hand, in a space of three features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cfbench import (
    CellContext,
    ComparisonContext,
    Constraint,
    Dataset,
    Direction,
    FeatureSpace,
    FeatureSpec,
    Found,
    Kind,
)
from cfbench.problem import Oracle
from cfbench.registry import FittedModel
from cfbench.space import FloatArray, IntArray
from cfbench_metrics.judged import Validity
from cfbench_metrics.optimality import RelativeLoss
from cfbench_metrics.plugin import cfbench_register_metrics

ENTRIES = {entry.name: entry for entry in cfbench_register_metrics()}

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 10, constraint=Constraint.ONLY_UP, step=1),
        FeatureSpec("debt", Kind.NUMERICAL, 0, 4),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 1, categories=("no", "yes")),
    )
)


class RichEnough:
    """Class 1 where income > 5; it refuses what no row of data can be, as an encoder of categories does."""

    def predict(self, Z: FloatArray) -> IntArray:
        assert np.isfinite(Z).all()
        assert np.isin(Z[:, 2], [0, 1]).all()
        return (Z[:, 0] > 5).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self) -> str:
        return "rich-enough"

    def oracle(self) -> Oracle:
        return self


def context(*, constraints: bool = True, respect_steps: bool = False) -> CellContext:
    X = np.array([[2.0, 1.0, 0.0], [7.0, 0.0, 1.0]])
    dataset = Dataset("tiny", X, np.array([0, 1]), SPACE, target=1, class_labels=("refused", "granted"))
    model: FittedModel = RichEnough()
    nothing = np.array([], dtype=np.int64)
    return CellContext(dataset, nothing, nothing, constraints, lambda: model, 42, respect_steps)


def searches(*rows: dict[str, Any]) -> Found:
    """Return searches with these fields of the record."""
    empty = {"row_id": 0, "status": "found", "x": [2.0, 1.0, 0.0], "z": None, "loss": None, "gower": None, "l0": None}
    empty |= {"cost": None, "search_queries": 0, "robustness_queries": 0, "wall_seconds": 0.0}
    return Found.of_columns({name: [row.get(name, default) for row in rows] for name, default in empty.items()})


def values(name: str, found: Found, where: CellContext | None = None) -> list[float]:
    measured = ENTRIES[name].metric().measure(found, where or context())
    assert measured.shape == (len(found),)
    assert measured.dtype == np.float64
    numbers: list[float] = measured.tolist()
    return numbers


# x = (2, 1, 0), z = (6, 1, 1): gower = (4/10 + 0 + 1) / 3, two of three features change
FOUND = {"loss": 0.5 * 1.4 / 3 + 0.5 * 2 / 3, "cost": 0.5 * 1.4 / 3 + 0.5 * 2 / 3, "gower": 1.4 / 3, "l0": 2}
RESULT = {**FOUND, "z": np.array([6.0, 1.0, 1.0]), "search_queries": 90, "robustness_queries": 10, "wall_seconds": 1.5}
NOTHING = {"status": "not_found", "search_queries": 50, "wall_seconds": 0.25}


def test_every_metric_says_what_it_is() -> None:
    comparing = {
        *("relative-loss", "relative-cost", "relative-cost-raw", "accidental-robustness"),
        "relative-cost-published",
        *("cost-of-robustness", "time-of-robustness", "optimality-gap"),
    }
    assert set(ENTRIES) == {
        *("success", "loss", "gower", "l0", "sparsity", "seconds", "queries", "validity"),
        *("k-robustness", "invalidity", "fixability", "unfixable", "additional-cost", "actual-cost"),
        *("redundancy", "knn-distance", "lof-inlier", "k-certified", "k-probability"),
        *("l1", "l2", "l-infinity", "mad-distance", "set-size", "diversity", "set-coverage", "hypervolume"),
        *comparing,
    }
    assert all(entry.denominator and entry.summary for entry in ENTRIES.values())
    assert {name for name, entry in ENTRIES.items() if entry.stage == "comparison"} == comparing
    higher = {name for name, entry in ENTRIES.items() if entry.direction is Direction.HIGHER}
    robust = {"k-robustness", "k-certified", "k-probability", "fixability"}
    sets = {"set-size", "diversity", "set-coverage", "hypervolume"}
    assert higher == {"success", "sparsity", "validity", "lof-inlier", *robust, *sets}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("success", [1.0, 0.0]),
        ("loss", [0.5 * 1.4 / 3 + 1 / 3, math.nan]),
        ("gower", [1.4 / 3, math.nan]),
        ("l0", [2.0, math.nan]),
        ("sparsity", [1 / 3, math.nan]),
        ("seconds", [1.5, 0.25]),
        ("queries", [100.0, 50.0]),
        ("validity", [1.0, math.nan]),
    ],
)
def test_a_success_and_a_failure(name: str, expected: list[float]) -> None:
    assert values(name, searches(RESULT, NOTHING)) == pytest.approx(expected, nan_ok=True)


def test_a_result_within_an_exhausted_budget_is_a_success_and_a_skipped_search_is_none() -> None:
    table = searches({**RESULT, "status": "budget_exhausted"}, {"status": "skipped"}, {"status": "budget_exhausted"})
    assert values("success", table) == pytest.approx([1.0, math.nan, 0.0], nan_ok=True)


CASES = [
    # z, class, inside, plausible
    ([6.0, 1.0, 1.0], 1, 1, 1),
    ([5.0, 1.0, 1.0], 0, 1, 1),
    ([11.0, 1.0, 1.0], 1, 0, 0),
    ([1.0, 1.0, 0.0], 0, 1, 0),  # income may only grow
    ([6.0, 1.0, 0.5], 0, 0, 0),  # no such category: the model is not even asked
    ([6.0, math.nan, 0.0], 0, 0, 0),
]


@pytest.mark.parametrize(("z", "of_class", "inside", "plausible"), CASES)
def test_the_checks_believe_no_recorded_status(z: list[float], of_class: int, inside: int, plausible: int) -> None:
    table = searches({**RESULT, "z": np.array(z)})
    checks = {"class": of_class, "inside": inside, "plausible": plausible, "all": of_class * plausible}
    for check, expected in checks.items():
        metric = Validity.model_validate({"check": check})
        assert metric.measure(table, context()).tolist() == [expected], check


def test_constraints_and_steps_are_checked_where_they_hold() -> None:
    poorer = searches({**RESULT, "x": np.array([7.0, 1.0, 0.0]), "z": np.array([6.5, 1.0, 0.0])})
    assert values("validity", poorer) == [0.0]
    assert values("validity", poorer, context(constraints=False)) == [1.0]
    assert values("validity", poorer, context(constraints=False, respect_steps=True)) == [0.0]


def test_the_checks_ask_the_model_once_for_the_whole_cell() -> None:
    asked: list[int] = []

    class Counting(RichEnough):
        def predict(self, Z: FloatArray) -> IntArray:
            asked.append(len(Z))
            return super().predict(Z)

    given = context()
    model = Counting()
    counting = CellContext(given.dataset, given.train, given.test, True, lambda: model, 42)
    assert values("validity", searches(RESULT, NOTHING, RESULT), counting) == pytest.approx(
        [1.0, math.nan, 1.0], nan_ok=True
    )
    assert asked == [2]


def test_relative_change_in_loss() -> None:
    def points(*losses: float | None) -> Found:
        return Found.of_columns({"row_id": range(len(losses)), "loss": losses})

    def nothing() -> Dataset:
        raise AssertionError("the loss is in the record")

    mine = points(0.3, 0.1, 0.2, None, 0.2)
    reference = points(0.2, 0.2, None, 0.2, 0.0)
    assert ENTRIES["relative-loss"].metric is RelativeLoss
    change = RelativeLoss().compare(mine, reference, ComparisonContext(nothing, constraints=False, seed=42))
    assert change.tolist() == pytest.approx([0.5, -0.5, math.nan, math.nan, math.nan], nan_ok=True)
