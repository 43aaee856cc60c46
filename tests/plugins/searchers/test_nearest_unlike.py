from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench import TrainingFold
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.nearest_unlike import NearestUnlike
from tests.plugins.searchers.problems import SpiedProblem, numbers, searched

CASES = [[0.9, 0.9], [0.7, 0.0], [0.1, 0.1], [0.6, 0.4], [0.8, 0.8]]


def problem_of_cases(cases: Any, **options: Any) -> SpiedProblem:
    fold = TrainingFold(np.array(cases, dtype=np.float64).reshape(-1, 2), np.zeros(len(cases), dtype=np.int64))
    return SpiedProblem(numbers((0, 1), (0, 1)), [0.2, 0.2], lambda Z: Z[:, 0] > 0.5, training=fold, **options)


def search(problem: SpiedProblem) -> Any:
    z = searched(NearestUnlike(), problem)
    return None if z is None else z.tolist()


def test_returns_the_closest_case_of_the_target_class() -> None:
    # Distances of the target cases from (0.2, 0.2): 0.7 + 0.7, 0.5 + 0.2, 0.4 + 0.2, 0.6 + 0.6; all change both.
    problem = problem_of_cases(CASES)
    assert search(problem) == [0.6, 0.4]
    assert [len(Z) for Z in problem.asked_before] == [5]
    assert np.concatenate(problem.asked).tolist() == [[0.6, 0.4]]


def test_an_objective_decides_what_is_closest() -> None:
    def shy_of_the_middle(Z: FloatArray, classes: IntArray) -> FloatArray:
        return np.where(Z[:, 0] < 0.65, 1.0, 0.0)

    assert search(problem_of_cases(CASES, term=shy_of_the_middle)) == [0.7, 0.0]


def test_infeasible_cases_are_not_returned() -> None:
    problem = problem_of_cases([[0.6, 1.5], [0.9, 0.9]])
    assert search(problem) == [0.9, 0.9]
    assert np.concatenate(problem.asked).tolist() == [[0.9, 0.9]]


@pytest.mark.parametrize("cases", [[], [[0.1, 0.1]], [[0.6, 1.5]]])
def test_none_where_no_case_serves(cases: list[list[float]]) -> None:
    assert search(problem_of_cases(cases)) is None


def test_under_an_objective_all_cases_of_the_target_class_are_evaluated() -> None:
    problem = problem_of_cases(CASES, term=lambda Z, classes: Z[:, 0])
    assert search(problem) == [0.6, 0.4]
    # From near to far; (0.1, 0.1) is of another class. The rest are re-evaluations.
    assert np.concatenate(problem.asked)[:4].tolist() == [[0.6, 0.4], [0.7, 0.0], [0.8, 0.8], [0.9, 0.9]]
