from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench.errors import BudgetExhausted, ModelError
from cfbench.problem.oracle import Meter, NeighbourOracle, Oracle, predict_neighbours
from cfbench.robustness.neighbours import KNeighbours
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind, NumericalPerturbation


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
        with pytest.raises(BudgetExhausted, match="1 more would exceed the query budget of 5 queries: 0 are"):
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


# ------------------------------------------------------------------ K-neighbours

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(3, 3)),
        FeatureSpec("age", Kind.NUMERICAL, 0, 10),
    )
)
NEAR = KNeighbours(SPACE, np.array([5.0, 0.0]), stream=3, m=7)


class Quick(Threshold):
    """Knows a way of its own."""

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        return np.full((len(Z), neighbours.m), 9, dtype=np.int64)


def test_neighbours_are_asked_row_by_row_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    Z = rows(5, 5, 2, 5, 9)
    whole = predict_neighbours(Threshold(), Z, NEAR)
    assert whole.shape == (5, 7)
    drawn = NEAR.draw(Z)
    np.testing.assert_array_equal(whole, drawn[:, :, 0] > 5)
    assert 0 < whole[0].sum() < 7
    assert whole[2:5:2].tolist() == [[0] * 7, [1] * 7]  # what is changed stays
    for block in (1, 14, 20):
        monkeypatch.setattr("cfbench.problem.oracle._BLOCK", block)
        np.testing.assert_array_equal(predict_neighbours(Threshold(), Z, NEAR), whole)


def test_an_oracle_with_a_way_of_its_own_is_asked_that_way() -> None:
    assert isinstance(Quick(), NeighbourOracle)
    assert not isinstance(Threshold(), NeighbourOracle)
    assert predict_neighbours(Quick(), rows(5), NEAR).tolist() == [[9] * 7]


@pytest.mark.parametrize("oracle", [Threshold(), Quick()])
def test_every_neighbour_counts_as_a_row_of_the_objective(oracle: Oracle) -> None:
    meter = Meter(oracle, d=2, max_queries=20)
    assert meter.predict_neighbours_for_objective(rows(5, 5), NEAR).shape == (2, 7)
    assert (meter.search_queries, meter.robustness_queries, meter.queries_left) == (0, 14, 6)
    with pytest.raises(BudgetExhausted, match="7 more would exceed the query budget of 20 queries: 6 are"):
        meter.predict_neighbours_for_objective(rows(5), NEAR)
    assert meter.robustness_queries == 14
    with pytest.raises(ModelError, match="float64 array of shape"):
        meter.predict_neighbours_for_objective(np.zeros((1, 3)), NEAR)


@pytest.mark.parametrize("oracle", [Threshold(), Quick()])
def test_no_neighbours_are_an_answer_that_costs_nothing(oracle: Oracle) -> None:
    meter = Meter(oracle, d=2, max_queries=0)
    nobody = KNeighbours(SPACE, np.array([5.0, 0.0]), stream=3, m=0)
    assert meter.predict_neighbours_for_objective(rows(5, 5), nobody).dtype == np.int64
    assert predict_neighbours(oracle, rows(5, 5), nobody).shape == (2, 0)
    assert predict_neighbours(oracle, np.empty((0, 2)), NEAR).shape == (0, 7)
    assert nobody.draw(rows(5, 5)).shape == (2, 0, 2)
    assert meter.robustness_queries == 0
