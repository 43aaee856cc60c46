"""sparse-sweep on problems whose best answer is known by enumeration or by hand."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from cfbench import BudgetExhausted, Constraint, FeatureSpace, FeatureSpec, Kind, Problem, TrainingFold
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.candidates import CandidateGrid, QueriedCandidates
from cfbench_searchers.sparse_sweep.robust import MeanValues, moves, retreats
from cfbench_searchers.sparse_sweep.searcher import SparseSweep
from cfbench_searchers.sparse_sweep.starts import training_starts
from cfbench_searchers.sparse_sweep.sweeps import anywhere, beyond, rests_on_draws, sweep
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, answer_of, numbers, rng


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
def test_linear_models_of_8_features(seed: int) -> None:
    draws = rng(seed)
    weights, x = draws.normal(size=8) * draws.exponential(size=8), draws.random(8)
    highest = np.maximum(weights, 0).sum()
    cut = x @ weights + (highest - x @ weights) * draws.uniform(0.02, 0.9)

    def classify(Z: FloatArray) -> Any:
        return Z @ weights > cut

    X = draws.random((200, 8))
    training = TrainingFold(X, classify(X).astype(np.int64)) if seed % 2 else None
    problem = SpiedProblem(numbers(*[(0, 1)] * 8), x, classify, training=training)
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
def test_any_rule_on_a_small_space_of_steps_and_categories(constraints: bool) -> None:
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
        problem = SpiedProblem(space, x, classify, constraints=constraints, respect_steps=True)
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
def test_little_forests(seed: int) -> None:
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
    problem = SpiedProblem(numbers(*[(0, 1)] * d), x, classify)
    z = SparseSweep().search(problem, rng(seed))
    if len(answers) == 0:
        assert z is None
    else:
        assert cost_of(problem, z) <= problem.distance(answers).min() * 1.001


# ------------------------------------------------------------- what it may ask, and when it ends


@pytest.mark.parametrize("respect_steps", [False, True])
def test_constraints_and_steps_leave_only_feasible_rows(respect_steps: bool) -> None:
    problem = SpiedProblem(
        MIXED, MIXED_X, lambda Z: (Z[:, 0] > 60) & (Z[:, 4] == 2), constraints=True, respect_steps=respect_steps
    )
    z = answer_of(SparseSweep(), problem)
    assert problem.is_feasible(np.concatenate(problem.asked)).all()
    assert z[0] == (61 if respect_steps else pytest.approx(60, abs=1e-4))
    assert (z != MIXED_X).tolist() == [True, False, False, False, True, False, False, False]


def test_a_factual_value_off_its_step_is_left() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 9, step=3.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    problem = SpiedProblem(space, [4.0, 0.5], lambda Z: Z[:, 1] > 0.7, respect_steps=True)
    z = answer_of(SparseSweep(), problem)
    assert z[0] == 3
    assert z[1] == pytest.approx(0.7, abs=1e-6)


def test_the_step_next_to_the_factual_value_may_be_the_answer() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 9, step=3.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    problem = SpiedProblem(space, [4.0, 0.5], lambda Z: Z[:, 0] < 3.5, respect_steps=True)
    z = answer_of(SparseSweep(), problem)
    assert z.tolist() == [3, 0.5]


@pytest.mark.parametrize("budget", [1, 7, 60, 2_500, 6_000])
def test_a_budget_is_used_to_its_end_and_nothing_is_lost(budget: int) -> None:
    weights = np.array([0.4, 0.5, 0.3, 0.2, 0.6, 0.1])
    problem = SpiedProblem(numbers(*[(0, 1)] * 6), np.zeros(6), lambda Z: Z @ weights > 1.2, max_queries=budget)
    z = SparseSweep().search(problem, rng())
    rows = np.concatenate(problem.asked)
    assert len(rows) == budget
    hits = rows[rows @ weights > 1.2]
    assert cost_of(problem, z) == pytest.approx(problem.distance(hits).min(initial=np.inf), abs=1e-9)


def test_without_a_budget_it_ends_where_one_feature_is_enough() -> None:
    problem = SpiedProblem(numbers((0, 10), (0, 1), (0, 1)), [2.0, 0.5, 0.5], lambda Z: Z[:, 0] > 7)
    z = answer_of(SparseSweep(), problem)
    assert z.tolist() == [pytest.approx(7, abs=1e-5), 0.5, 0.5]
    assert sum(map(len, problem.asked)) < 400


def test_without_any_answer_it_gives_up() -> None:
    problem = SpiedProblem(MIXED, MIXED_X, lambda Z: np.full(len(Z), 2))
    assert SparseSweep().search(problem, rng()) is None
    assert sum(map(len, problem.asked)) < 30_000


def test_where_nothing_can_change_it_asks_nothing() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 1, constraint=Constraint.FIXED),))
    for budget in (None, 50):
        problem = SpiedProblem(space, [0.5], lambda Z: Z[:, 0] > 0.7, constraints=True, max_queries=budget)
        assert SparseSweep().search(problem, rng()) is None
    assert problem.asked == []


def test_finds_the_corner_of_a_box_without_data() -> None:
    weights = np.ones(10)
    problem = SpiedProblem(numbers(*[(0, 1)] * 10), np.zeros(10), lambda Z: Z @ weights > 9.99)
    assert SparseSweep().search(problem, rng()) is not None


@pytest.mark.slow
def test_many_features_of_which_three_matter() -> None:
    d = 150
    x = rng(1).random(d) * 0.5

    def classify(Z: FloatArray) -> Any:
        return (Z[:, 3] > 0.6) & (Z[:, 70] > 0.7) & (Z[:, 149] > 0.8)

    X = rng(2).random((400, d))
    problem = SpiedProblem(numbers(*[(0, 1)] * d), x, classify, training=TrainingFold(X, classify(X).astype(np.int64)))
    z = answer_of(SparseSweep(n_rows=20_000), problem)
    assert np.flatnonzero(z != x).tolist() == [3, 70, 149]
    assert z[[3, 70, 149]] == pytest.approx([0.6, 0.7, 0.8], abs=1e-4)
    assert sum(map(len, problem.asked)) <= 20_000


class Prices:
    """A term that is a sum over the features: each has its price for a move."""

    def __init__(self, x: FloatArray, prices: FloatArray) -> None:
        self._x = x
        self._prices = prices

    @property
    def breaks(self) -> tuple[FloatArray, ...]:
        return tuple(self._x[i : i + 1] for i in range(len(self._x)))

    def parts(self, Z: FloatArray) -> FloatArray:
        parts: FloatArray = np.abs(Z - self._x) * self._prices
        return parts

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        total: FloatArray = self.parts(Z).sum(axis=1)
        return total


@pytest.mark.parametrize("is_separable", [True, False])
def test_a_term_that_makes_the_shortest_way_dear(is_separable: bool) -> None:
    x = np.array([0.4, 0.4, 0.5])
    prices = Prices(x, np.array([4.0, 0.5, 0.0]))
    term = prices if is_separable else prices.__call__
    problem = SpiedProblem(numbers(*[(0, 1)] * 3), x, lambda Z: (Z[:, 0] > 0.5) | (Z[:, 1] > 0.7), term=term)
    assert (problem.separable_term is not None) == is_separable
    z = answer_of(SparseSweep(), problem)
    # A tenth of the first feature costs 0.417 beside the 1/6 for a change, three tenths of the second 0.2.
    assert z.tolist() == [0.4, pytest.approx(0.7, abs=1e-5), 0.5]


M = 32
"""Draws of the noisy objective below."""


def fragile(noise: np.random.Generator, evaluations: list[int]) -> Callable[[FloatArray, IntArray], FloatArray]:
    """A term that rests on draws: beyond the first feature's 0.8, and in the second, no draw is lost."""

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        evaluations.append(len(Z))
        lost = np.clip((0.8 - Z[:, 0]) / 0.4, 0, 1) * (Z[:, 1] == 0)
        penalty: FloatArray = 0.5 * noise.binomial(M, lost) / M
        return penalty

    return term


def either(Z: FloatArray) -> Any:
    return (Z[:, 0] > 0.5) | (Z[:, 1] > 0.95)


def test_values_that_rest_on_draws_are_judged_again_and_again() -> None:
    evaluations: list[int] = []
    problem = SpiedProblem(numbers(*[(0, 1)] * 3), np.zeros(3), either, term=fragile(rng(5), evaluations))
    z = answer_of(SparseSweep(), problem)
    # The cheapest, 0.5 in the first feature, loses three draws of four: 0.25 + 0.375. At 0.8 none is lost, for 0.3;
    # 0.95 in the second costs 0.325. Each step before 0.8 loses more than it saves.
    assert z[0] == pytest.approx(0.8, abs=0.01)
    assert z[1:].tolist() == [0, 0]
    assert sum(evaluations) <= SparseSweep().n_evaluations + 200


@pytest.mark.parametrize("budget", [400, 3_000, 30_000])
def test_a_budget_for_values_that_rest_on_draws(budget: int) -> None:
    options: dict[str, Any] = {"term": fragile(rng(5), []), "max_queries": budget}
    problem = SpiedProblem(numbers(*[(0, 1)] * 3), np.zeros(3), either, **options)
    z = answer_of(SparseSweep(), problem)
    assert sum(map(len, problem.asked)) == budget
    assert either(z[np.newaxis])[0]
    if budget >= 3_000:
        assert z[0] == pytest.approx(0.8, abs=0.03)


def queried_of(problem: Problem) -> QueriedCandidates:
    return QueriedCandidates(problem, CandidateGrid(problem, None, 300), None, by_value=False)


def beyond_half(Z: FloatArray) -> Any:
    return Z[:, 0] > 0.5


def test_levels_are_training_values_and_midpoints_within_the_constraints() -> None:
    space = FeatureSpace(
        (FeatureSpec("n", Kind.NUMERICAL, 0, 10), FeatureSpec("c", Kind.CATEGORICAL, 0, 2, tuple("abc")))
    )
    training = TrainingFold(np.array([[1.0, 0], [2, 1], [6, 1]]), np.zeros(3, dtype=np.int64))
    grid = CandidateGrid(SpiedProblem(space, [2.0, 1.0], beyond_half), training, 300)
    assert grid.levels[0].tolist() == [0, 1, 1.5, 4, 6, 10]
    assert grid.levels[1].tolist() == [0, 2]
    # A change costs 1/4, moving 1/40 a unit; another category 1/2.
    assert grid.costs[0] == pytest.approx(0.25 + np.array([2, 1, 0.5, 2, 4, 8]) / 40)
    assert grid.costs[1] == pytest.approx([0.5, 0.5])
    assert grid.least == pytest.approx([0.25, 0.5])
    assert grid.slope[0] == pytest.approx(1 / 40)
    assert grid.bound([0, 1]) == grid.cheapest_pair() == pytest.approx(0.75)


def test_values_between_two_keep_to_steps_and_stop_where_there_are_none() -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 10, step=1.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    grid = CandidateGrid(SpiedProblem(space, [0.0, 0.0], beyond_half, respect_steps=True), None, 300)
    assert grid.between(0, 2.0, 6.0, 7).tolist() == [3, 4, 5]
    assert grid.between(0, 6.0, 2.0, 7).tolist() == [5, 4, 3]
    assert grid.between(0, 2.0, 3.0, 7).tolist() == []
    assert grid.between(1, 0.0, 0.8, 3) == pytest.approx([0.2, 0.4, 0.6])
    assert grid.between(1, 0.5, 0.5 + 1e-8, 3).tolist() == []


def test_a_question_past_the_budget_is_asked_as_far_as_it_goes() -> None:
    problem = SpiedProblem(numbers(*[(0, 1)] * 2), [0.0, 0.0], beyond_half, max_queries=3)
    queried = queried_of(problem)
    Z = np.array([[0.4, 0], [0.9, 0], [0.8, 0.1], [0.6, 0]])
    with pytest.raises(BudgetExhausted):
        queried.ask(Z)
    assert queried.best is not None
    assert queried.best.z.tolist() == [0.9, 0]
    assert {key: value.z.tolist() for key, value in queried.best_of.items()} == {(0,): [0.9, 0], (0, 1): [0.8, 0.1]}
    assert queried.left == 0


def test_an_allowance_of_its_own_ends_a_search_as_a_budget_does() -> None:
    problem = SpiedProblem(numbers((0, 1)), [0.0], beyond_half)
    queried = QueriedCandidates(problem, CandidateGrid(problem, None, 300), 2, by_value=False)
    with pytest.raises(BudgetExhausted):
        queried.ask(np.array([[0.1], [0.2], [0.3]]))
    queried.allow(1)
    assert queried.ask(np.array([[0.7]])) == pytest.approx([0.85])


def test_infeasible_rows_are_not_asked() -> None:
    problem = SpiedProblem(numbers((0, 1)), [0.0], beyond_half)
    queried = queried_of(problem)
    assert queried.ask(np.array([[2.0], [0.75], [-1.0]])).tolist() == [np.inf, 0.875, np.inf]
    assert np.concatenate(problem.asked).tolist() == [[0.75]]


def test_starts_are_the_nearest_rows_of_the_target_class_whatever_their_label() -> None:
    X = np.array([[0.9, 0.2], [0.6, 0.1], [0.2, 0.1], [0.7, 0.9], [0.8, 0.0]])
    problem = SpiedProblem(numbers(*[(0, 1)] * 2), [0.0, 0.0], beyond_half)
    training = TrainingFold(X, np.array([1, 0, 1, 1, 0]))
    starts = training_starts(queried_of(problem), training, 1, wanted=4, most=100)
    assert [start.z.tolist() for start in starts] == [[0.9, 0.2], [0.7, 0.9], [0.8, 0.0], [0.6, 0.1]]
    assert [len(Z) for Z in problem.asked] == [3, 2]  # those with the label first


def noisy(noise: np.random.Generator, share: float = 0.5) -> Callable[[FloatArray, IntArray], FloatArray]:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        drawn: FloatArray = 0.5 * noise.binomial(20, share * (Z[:, 1] == 0)) / 20
        return drawn

    return term


def test_equal_rows_tell_whether_values_rest_on_draws() -> None:
    terms: dict[str, Any] = {
        "drawn": noisy(rng(1)),
        "nothing yet": lambda Z, classes: np.zeros(len(Z)),
        "settled": lambda Z, classes: Z[:, 1],
    }
    said = {}
    for name, term in terms.items():
        problem = SpiedProblem(numbers(*[(0, 1)] * 2), [0.0, 0.0], beyond_half, term=term)
        queried = queried_of(problem)
        sweep(queried)
        said[name] = rests_on_draws(problem, np.concatenate([anywhere(queried, rng()), beyond(queried)]))
    assert said == {"drawn": True, "nothing yet": True, "settled": False}


def test_a_race_keeps_means_and_spends_its_allowance_alone() -> None:
    seen: list[FloatArray] = []

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        seen.append(Z)
        rising: FloatArray = np.arange(len(Z), dtype=np.float64)
        return rising

    problem = SpiedProblem(numbers(*[(0, 1)] * 2), [0.0, 0.0], beyond_half, term=term)
    means = MeanValues(problem, 9)
    places = means.enter(np.array([[0.6, 0.0], [0.8, 0.0]]))
    assert means.judge(places, 2).tolist() == [0, 1]
    # Rows are asked in one question, those of a candidate side by side: it added 0 and 1 to one, 2 and 3 to the other.
    assert means.means == pytest.approx([0.4 + 0.5, 0.45 + 2.5])
    means.judge(places[:1], 4)
    assert means.means[0] == pytest.approx(0.4 + (0 + 1 + 0 + 1) / 4)
    assert means.times.tolist() == [4, 2]
    assert means.left == 3
    with pytest.raises(BudgetExhausted):
        means.judge(places, 5)
    assert means.left == 3


def test_halving_judges_the_better_ones_more_often() -> None:
    problem = SpiedProblem(numbers(*[(0, 1)] * 2), [0.0, 0.0], beyond_half, term=noisy(rng(3), 0.1))
    means = MeanValues(problem, 1_000)
    places = means.enter(np.column_stack([np.linspace(0.55, 0.95, 16), np.zeros(16)]))
    order = means.halve(places, 2, 16)
    assert means.times[order].tolist() == [16, 16]
    assert sorted(means.times.tolist(), reverse=True) == [16] * 2 + [8] * 2 + [4] * 4 + [2] * 8


def test_moves_and_retreats_are_feasible_and_others() -> None:
    problem = SpiedProblem(MIXED, MIXED_X, beyond_half, constraints=True, respect_steps=True)
    queried = queried_of(problem)
    z = MIXED_X.copy()
    z[[0, 2, 4]] = [60.0, 2e-4, 3.0]
    near, moved = retreats(queried, z), moves(queried, z, 0.15, everything=True)
    for rows in (near, moved):
        assert problem.is_feasible(rows).all()
        assert (rows != z).any(axis=1).all()
    assert (problem.distance(near) < problem.distance(z[np.newaxis])).all()
    put_back = (moved == MIXED_X).sum(axis=1)
    assert (put_back == 6).sum() >= 3  # each of the three once, next to what else brings one back
