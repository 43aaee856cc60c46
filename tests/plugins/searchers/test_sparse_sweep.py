"""sparse-sweep on problems whose best answer is known by enumeration or by hand."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind, Problem, TrainingFold
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.searcher import SparseSweep

MakeProblem = Callable[..., Problem]
Numbers = Callable[..., FeatureSpace]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def cost_of(problem: Problem, z: FloatArray | None) -> float:
    return np.inf if z is None else float(problem.distance(z[np.newaxis])[0])


# ------------------------------------------------------------- against enumeration


def linear_optimum(weights: FloatArray, cut: float, x: FloatArray) -> float:
    """Return the least cost of passing the cut in the unit cube: of every set, the features of most weight go first."""
    d = len(x)
    best = np.inf
    for size in range(1, d + 1):
        for features in combinations(range(d), size):
            missing, cost = cut - x @ weights, 0.5 * size / d
            for i in sorted(features, key=lambda i: -abs(weights[i])):
                room = 1 - x[i] if weights[i] > 0 else x[i]
                move = min(room, max(missing, 0.0) / abs(weights[i]))
                missing -= move * abs(weights[i])
                cost += 0.5 * move / d
            if missing <= 1e-12:
                best = min(best, cost)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_linear_models_of_8_features(make_problem: MakeProblem, numbers: Numbers, seed: int) -> None:
    draws = rng(seed)
    weights, x = draws.normal(size=8) * draws.exponential(size=8), draws.random(8)
    highest = np.maximum(weights, 0).sum()
    cut = x @ weights + (highest - x @ weights) * draws.uniform(0.02, 0.9)

    def classify(Z: FloatArray) -> Any:
        return Z @ weights > cut

    X = draws.random((200, 8))
    training = TrainingFold(X, classify(X).astype(np.int64)) if seed % 2 else None
    problem = make_problem(numbers(*[(0, 1)] * 8), x, classify, training=training)
    cost = cost_of(problem, SparseSweep(n_rows=20_000).search(problem, rng(seed)))
    optimum = linear_optimum(weights, cut, x)
    assert optimum <= cost <= optimum * 1.001


def small_space() -> FeatureSpace:
    return FeatureSpace(
        (
            FeatureSpec("a", Kind.CATEGORICAL, 0, 2, ("p", "q", "r")),
            FeatureSpec("b", Kind.CATEGORICAL, 0, 3, ("p", "q", "r", "s")),
            FeatureSpec("c", Kind.CATEGORICAL, 0, 1, ("p", "q"), constraint=Constraint.FIXED),
            FeatureSpec("n", Kind.NUMERICAL, 0, 4, step=1.0),
            FeatureSpec("m", Kind.NUMERICAL, -2, 2, step=1.0, constraint=Constraint.ONLY_UP),
        )
    )


@pytest.mark.parametrize("constraints", [False, True])
def test_any_rule_on_a_small_space_of_steps_and_categories(make_problem: MakeProblem, constraints: bool) -> None:
    space = small_space()
    every = np.array(list(product(range(3), range(4), range(2), range(5), range(-2, 3))), dtype=np.float64)
    solved = 0
    for seed in range(20):
        draws = rng(seed)
        is_target = draws.random((3, 4, 2, 5, 5)) < 0.02
        x = every[draws.integers(len(every))]

        def classify(Z: FloatArray, is_target: Any = is_target) -> Any:
            a, b, c, n, m = Z.T.astype(np.int64)
            return is_target[a, b, c, n, m + 2]

        if classify(x[np.newaxis])[0]:
            continue
        problem = make_problem(space, x, classify, constraints=constraints, respect_steps=True)
        answers = every[classify(every) & problem.is_feasible(every)]
        z = SparseSweep(n_rows=5_000).search(problem, rng(seed))
        if len(answers) == 0:
            assert z is None
            continue
        best = answers[np.argmin(problem.distance(answers))]
        if (best != x).sum() > 3:  # more than three at a time are not looked at systematically
            continue
        solved += 1
        assert cost_of(problem, z) == pytest.approx(problem.distance(best[np.newaxis])[0])
    assert solved > 8


def stumps(draws: np.random.Generator, n: int, d: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Trees of two levels: for each three splits (features and cuts on a grid of 1/20) and four votes."""
    return (
        draws.integers(d, size=(n, 3)),
        (draws.integers(1, 19, size=(n, 3)) + 0.5) / 20,
        draws.normal(size=(n, 4)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, 4, 5, 6, 8, 11, 14])
def test_little_forests(make_problem: MakeProblem, numbers: Numbers, seed: int) -> None:
    d = 4
    draws = rng(seed)
    features, cuts, votes = stumps(draws, 7, d)

    def classify(Z: FloatArray) -> Any:
        right = Z[:, features] > cuts
        leaf = np.where(right[:, :, 0], 2 + right[:, :, 2], 0 + right[:, :, 1])
        return votes[np.arange(len(votes)), leaf].sum(axis=1) > 1.0

    x = draws.random(d)
    assert not classify(x[np.newaxis])[0]
    beside = [np.unique(np.concatenate(([x[i]], (c := cuts[features == i]) - 1e-9, c + 1e-9))) for i in range(d)]
    every = np.array(list(product(*beside)))
    answers = every[classify(every)]
    problem = make_problem(numbers(*[(0, 1)] * d), x, classify)
    z = SparseSweep().search(problem, rng(seed))
    if len(answers) == 0:
        assert z is None
    else:
        assert cost_of(problem, z) <= problem.distance(answers).min() * 1.001


# ------------------------------------------------------------- what it may ask, and when it ends


@pytest.mark.parametrize("respect_steps", [False, True])
def test_constraints_and_steps_leave_only_feasible_rows(
    make_problem: MakeProblem, mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray], respect_steps: bool
) -> None:
    problem = make_problem(
        mixed, mixed_x, lambda Z: (Z[:, 0] > 60) & (Z[:, 4] == 2), constraints=True, respect_steps=respect_steps
    )
    z = SparseSweep().search(problem, rng())
    assert problem.is_feasible(np.concatenate(asked)).all()
    assert z is not None
    assert z[0] == (61 if respect_steps else pytest.approx(60, abs=1e-4))
    assert (z != mixed_x).tolist() == [True, False, False, False, True, False, False, False]


def test_a_factual_value_off_its_step_is_left(make_problem: MakeProblem) -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 9, step=3.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    problem = make_problem(space, [4.0, 0.5], lambda Z: Z[:, 1] > 0.7, respect_steps=True)
    z = SparseSweep().search(problem, rng())
    assert z is not None
    assert z[0] == 3
    assert z[1] == pytest.approx(0.7, abs=1e-6)


def test_the_step_next_to_the_factual_value_may_be_the_answer(make_problem: MakeProblem) -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 9, step=3.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    problem = make_problem(space, [4.0, 0.5], lambda Z: Z[:, 0] < 3.5, respect_steps=True)
    z = SparseSweep().search(problem, rng())
    assert z is not None
    assert z.tolist() == [3, 0.5]


@pytest.mark.parametrize("budget", [1, 7, 60, 500, 2_500, 6_000])
def test_a_budget_is_used_to_its_end_and_nothing_is_lost(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray], budget: int
) -> None:
    weights = np.array([0.4, 0.5, 0.3, 0.2, 0.6, 0.1])
    problem = make_problem(numbers(*[(0, 1)] * 6), np.zeros(6), lambda Z: Z @ weights > 1.2, max_queries=budget)
    z = SparseSweep().search(problem, rng())
    rows = np.concatenate(asked)
    assert len(rows) == budget
    hits = rows[rows @ weights > 1.2]
    assert cost_of(problem, z) == pytest.approx(problem.distance(hits).min(initial=np.inf), abs=1e-9)


def test_without_a_budget_it_ends_where_one_feature_is_enough(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]
) -> None:
    problem = make_problem(numbers((0, 10), (0, 1), (0, 1)), [2.0, 0.5, 0.5], lambda Z: Z[:, 0] > 7)
    z = SparseSweep().search(problem, rng())
    assert z is not None
    assert z.tolist() == [pytest.approx(7, abs=1e-5), 0.5, 0.5]
    assert sum(map(len, asked)) < 400


def test_without_any_answer_it_gives_up(
    make_problem: MakeProblem, mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray]
) -> None:
    problem = make_problem(mixed, mixed_x, lambda Z: np.full(len(Z), 2))
    assert SparseSweep().search(problem, rng()) is None
    assert sum(map(len, asked)) < 30_000


def test_where_nothing_can_change_it_asks_nothing(make_problem: MakeProblem, asked: list[FloatArray]) -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 1, constraint=Constraint.FIXED),))
    for budget in (None, 50):
        problem = make_problem(space, [0.5], lambda Z: Z[:, 0] > 0.7, constraints=True, max_queries=budget)
        assert SparseSweep().search(problem, rng()) is None
    assert asked == []


def test_finds_the_corner_of_a_box_without_data(make_problem: MakeProblem, numbers: Numbers) -> None:
    weights = np.ones(10)
    problem = make_problem(numbers(*[(0, 1)] * 10), np.zeros(10), lambda Z: Z @ weights > 9.99)
    assert SparseSweep().search(problem, rng()) is not None


def test_many_features_of_which_three_matter(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]
) -> None:
    d = 150
    x = rng(1).random(d) * 0.5

    def classify(Z: FloatArray) -> Any:
        return (Z[:, 3] > 0.6) & (Z[:, 70] > 0.7) & (Z[:, 149] > 0.8)

    X = rng(2).random((400, d))
    problem = make_problem(numbers(*[(0, 1)] * d), x, classify, training=TrainingFold(X, classify(X).astype(np.int64)))
    z = SparseSweep(n_rows=20_000).search(problem, rng())
    assert z is not None
    assert np.flatnonzero(z != x).tolist() == [3, 70, 149]
    assert z[[3, 70, 149]] == pytest.approx([0.6, 0.7, 0.8], abs=1e-4)
    assert sum(map(len, asked)) <= 20_000


def test_same_generator_same_search(
    make_problem: MakeProblem, mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray]
) -> None:
    runs = []
    for _ in range(2):
        asked.clear()
        z = SparseSweep().search(make_problem(mixed, mixed_x, lambda Z: (Z[:, 4] == 3) & (Z[:, 1] < 900)), rng(3))
        assert z is not None
        runs.append((z.tolist(), np.concatenate(asked)))
    assert runs[0][0] == runs[1][0]
    assert np.array_equal(runs[0][1], runs[1][1])


def test_settings_travel_to_other_processes() -> None:
    searcher = SparseSweep(n_rows=500)
    assert pickle.loads(pickle.dumps(searcher)) == searcher
