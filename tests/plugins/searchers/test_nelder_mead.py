from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from cfbench import FeatureSpace, FeatureSpec, Kind, Problem
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.nelder_mead import NelderMead
from tests.plugins.searchers.problems import SpiedProblem, categories, numbers, rng


def search(problem: Problem, n_iterations: int = 100) -> FloatArray | None:
    return NelderMead(n_iterations=n_iterations).search(problem, rng())


def test_closes_in_on_a_near_threshold() -> None:
    # SciPy's first simplex moves a feature by 5 %: 1.05 is beyond the threshold already.
    z = search(SpiedProblem(numbers((0, 10)), [1.0], lambda Z: Z[:, 0] > 1.04))
    assert z is not None
    assert 1.04 < z[0] < 1.041


def test_stays_on_the_plateau_of_a_far_threshold() -> None:
    assert search(SpiedProblem(numbers((0, 10)), [1.0], lambda Z: Z[:, 0] > 7)) is None


def test_is_scipys_method_for_so_many_iterations() -> None:
    x = np.array([1.0, 2.0, 0.0])
    problem = SpiedProblem(numbers((0, 4), (0, 4), (0, 4)), x, lambda Z: Z[:, 0] + Z[:, 1] > 3.02)
    z = search(problem, n_iterations=30)

    def loss(v: FloatArray) -> float:
        gower = np.abs(v - x).sum() / 4 / 3
        return float(0.5 * gower + 0.5 * (v != x).sum() / 3 + (v[0] + v[1] <= 3.02))

    expected = minimize(loss, x, method="Nelder-Mead", bounds=[(0, 4)] * 3, options={"maxiter": 30})
    assert expected.nit == 30
    assert len(problem.asked) == expected.nfev
    assert z is not None
    assert z.tolist() == expected.x.tolist()


def test_categories_are_asked_as_numbers_and_rounded_at_the_end() -> None:
    # SciPy's first simplex moves a category code of 1 to 1.05, which is of the target class; the code 1 is not.
    assert search(SpiedProblem(categories(3), [1.0], lambda Z: Z[:, 0] > 1.04)) is None


@pytest.mark.parametrize("budget", [1, 5])
def test_a_budget_ends_the_search_with_the_best_so_far(budget: int) -> None:
    problem = SpiedProblem(numbers((0, 10)), [1.0], lambda Z: Z[:, 0] > 1.04, max_queries=budget)
    z = search(problem)
    assert len(problem.asked) == budget
    hits = [float(Z[0, 0]) for Z in problem.asked if Z[0, 0] > 1.04]
    assert (None if z is None else z.tolist()) == ([min(hits)] if hits else None)


def test_under_draws_the_rounded_vertices_are_re_evaluated() -> None:
    # Single values are noise. Those of a re-evaluation say that the smallest number is best.
    draws = rng()
    again: list[list[float]] = []

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        if len(Z) == 1:
            noise: FloatArray = draws.random(1)
            return noise
        again.extend(Z.tolist())
        smallest_best: FloatArray = 10 * Z[:, 0]
        return smallest_best

    space = FeatureSpace(
        (FeatureSpec("n", Kind.NUMERICAL, 0, 10), FeatureSpec("c", Kind.CATEGORICAL, 0, 7, tuple("abcdefgh")))
    )
    problem = SpiedProblem(space, [5.0, 4.0], lambda Z: Z[:, 0] > 5.1, term=term, term_draws=512)
    z = search(problem)
    distinct = sorted(set(map(tuple, again)))
    assert [row[1] for row in distinct] == [4.0] * len(distinct)  # nothing but whole codes
    assert len(distinct) == 10
    assert len(again) == 2 * len(distinct)  # 2 x 512 draws each
    assert z is not None
    assert z.tolist() == list(distinct[0])


def test_under_draws_a_rounded_vertex_without_the_class_is_not_returned() -> None:
    problem = SpiedProblem(
        categories(3), [1.0], lambda Z: Z[:, 0] > 1.04, term=lambda Z, classes: np.zeros(len(Z)), term_draws=64
    )
    z = search(problem)
    assert z is None or z[0] > 1.04
