from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cfbench import BudgetExhausted, FeatureSpace, FloatArray, IntArray, Problem
from cfbench_searchers.incumbent import Incumbent


def above_half(Z: FloatArray) -> FloatArray:
    return np.where(Z[:, 0] > 0.5, 1.0, 0.0)


def test_keeps_the_best_target_row_over_all_questions(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    best = Incumbent(make_problem(numbers((0, 1)), [0.0], above_half))
    best.ask(np.array([[0.1], [0.4]]))
    assert np.isinf(best.value)
    values = best.ask(np.array([[0.9], [0.6], [0.8]]))
    # d = 1: half of the distance as a share of the range, plus half for the one changed feature.
    assert values.tolist() == pytest.approx([0.95, 0.8, 0.9])
    best.ask(np.array([[0.7]]))
    assert best.z is not None
    assert best.z.tolist() == [0.6]
    assert best.value == pytest.approx(0.8)


def test_knows_classes_whatever_an_objective_adds(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    def harsh(Z: FloatArray, classes: IntArray) -> FloatArray:
        return np.where(classes == 1, 5.0, 0.0)

    best = Incumbent(make_problem(numbers((0, 1)), [0.0], above_half, term=harsh))
    best.ask(np.array([[0.1], [0.9]]))
    assert best.z is not None
    assert best.z.tolist() == [0.9]
    assert best.value == pytest.approx(5.95)


def test_a_budget_is_used_to_its_last_row(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    best = Incumbent(make_problem(numbers((0, 1)), [0.0], above_half, max_queries=5))
    best.ask(np.full((3, 1), 0.9))
    with pytest.raises(BudgetExhausted):
        best.ask(np.array([[0.8], [0.7], [0.6], [0.51]]))
    assert sum(map(len, asked)) == 5
    assert best.z is not None
    assert best.z.tolist() == [0.7]
