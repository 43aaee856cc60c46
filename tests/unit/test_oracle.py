from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench.errors import BudgetExhausted, ModelError
from cfbench.oracle import Meter, Oracle
from cfbench.space import FloatArray, IntArray


class Threshold:
    """Class 1 where the first feature is above 5; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def predict(self, Z: FloatArray) -> IntArray:
        self.asked += len(Z)
        return (Z[:, 0] > 5).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        self.asked += len(Z)
        above = np.clip(Z[:, 0] / 10, 0, 1)
        return np.stack([1 - above, above], axis=1)


def rows(*values: float) -> FloatArray:
    return np.array([[value, 0.0] for value in values])


def test_the_toy_is_an_oracle() -> None:
    assert isinstance(Threshold(), Oracle)


def test_every_row_is_counted_by_whatever_way_it_is_asked() -> None:
    oracle = Threshold()
    meter = Meter(oracle, d=2)
    np.testing.assert_array_equal(meter.predict(rows(4, 6)), [0, 1])
    np.testing.assert_allclose(meter.predict_proba(rows(4)), [[0.6, 0.4]])
    meter.predict(rows(4, 6))  # asked before: counted again
    meter.predict(np.empty((0, 2)))
    np.testing.assert_array_equal(meter.predict_for_objective(rows(7, 8, 9)), [1, 1, 1])
    assert (meter.search_queries, meter.robustness_queries) == (5, 3)
    assert oracle.asked == 8
    assert meter.queries_left is None


def test_the_budget_bounds_both_kinds_of_questions_together() -> None:
    meter = Meter(Threshold(), d=2, max_queries=5)
    meter.predict(rows(1, 2))
    meter.predict_for_objective(rows(3))
    assert meter.queries_left == 2
    meter.predict_proba(rows(1, 2))
    assert meter.queries_left == 0
    for ask in (meter.predict, meter.predict_proba, meter.predict_for_objective):
        with pytest.raises(BudgetExhausted, match="a question of 1 rows would pass the query budget of 5: 0 rows"):
            ask(rows(1))


def test_a_question_past_the_budget_is_refused_before_any_row_is_answered() -> None:
    oracle = Threshold()
    meter = Meter(oracle, d=2, max_queries=3)
    with pytest.raises(BudgetExhausted):
        meter.predict(rows(1, 2, 3, 4))
    assert oracle.asked == meter.search_queries == 0
    meter.predict(rows(1, 2, 3))  # what still fits is answered
    meter.predict(np.empty((0, 2)))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (np.zeros(2), r"shape \(n, 2\), not float64 of shape \(2,\)"),
        (np.zeros((1, 3)), r"not float64 of shape \(1, 3\)"),
        (np.zeros((1, 2), dtype=np.int64), r"not int64 of shape \(1, 2\)"),
        (np.zeros((1, 2), dtype=np.float32), "not float32"),
        ([[1.0, 2.0]], "not list"),
        (np.array([[1.0, np.nan]]), "a NaN or an infinity"),
        (np.array([[np.inf, 1.0]]), "a NaN or an infinity"),
    ],
)
def test_what_is_no_question_is_refused_and_costs_nothing(question: Any, message: str) -> None:
    oracle = Threshold()
    meter = Meter(oracle, d=2, max_queries=3)
    for ask in (meter.predict, meter.predict_proba, meter.predict_for_objective):
        with pytest.raises(ModelError, match=message):
            ask(question)
    assert oracle.asked == meter.search_queries == meter.robustness_queries == 0
