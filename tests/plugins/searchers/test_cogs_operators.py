"""CoGS's operators: initial population, crossover, mutation, tournaments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cfbench import FeatureSpace, Problem
from cfbench.space import FloatArray
from cfbench_searchers.cogs import cross, initial_population, mutate, winners
from cfbench_searchers.feasible_box import FeasibleBox


def never(Z: FloatArray) -> FloatArray:
    return np.zeros(len(Z))


def test_initial_population_copies_two_features_of_d(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 8), np.full(8, 0.3), never)
    population = initial_population(FeasibleBox(problem), problem.x, 10_000, np.random.default_rng(0))
    # A copy has probability 2/8; a draw hits 0.3 never. Deviation of the count: sqrt(80000 * 3/16) = 122.5.
    assert abs((population == 0.3).sum() - 20_000) < 4 * 122.5


@pytest.mark.parametrize("d", [1, 2])
def test_initial_population_of_few_features_is_half_drawn(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], d: int
) -> None:
    problem = make_problem(numbers(*[(0, 1)] * d), np.full(d, 0.3), never)
    population = initial_population(FeasibleBox(problem), problem.x, 10_000, np.random.default_rng(0))
    assert np.all(np.abs((population == 0.3).sum(axis=0) - 5000) < 4 * 50)


def test_crossover_gives_complementary_children() -> None:
    parents = np.arange(6 * 500, dtype=np.float64).reshape(6, 500)
    before = parents.copy()
    children = cross(parents, np.arange(6), np.random.default_rng(0))
    assert np.array_equal(parents, before)
    for i in range(3):
        pair, offspring = parents[[i, i + 3]], children[[i, i + 3]]
        assert np.array_equal(np.sort(offspring, axis=0), np.sort(pair, axis=0))
        # 500 features, each swapped with probability 1/2: deviation sqrt(125) = 11.2.
        assert abs((offspring[0] == pair[1]).sum() - 250) < 4 * 11.2


def test_mutation_alters_one_feature_of_d_and_keeps_its_reach(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    space = numbers((0, 1), (-50, 50), (0, 1e9), (0, 1e-9), (5, 6))
    x = (space.lower + space.upper) / 2
    box = FeasibleBox(make_problem(space, x, never))
    children = np.tile(x, (20_000, 1))
    mutate(children, box, 0.25 / 2 * space.ranges, np.random.default_rng(0))
    altered = children != x
    # Probability 1/5 a feature: deviation of a feature's count sqrt(20000 * 4/25) = 56.6.
    assert np.all(np.abs(altered.sum(axis=0) - 4000) < 4 * 56.6)
    moves = (children - x) / space.ranges
    assert np.abs(moves).max() <= 0.125 * (1 + 1e-6)
    # Uniform on [-1/8, 1/8]: the mean of 4,000 draws deviates by 0.25 / sqrt(12 * 4000) = 0.00114.
    for i in range(5):
        assert abs(moves[altered[:, i], i].mean()) < 4 * 0.00114
        assert np.abs(moves[:, i]).max() > 0.12


def test_mutation_stops_at_the_sides(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    space = numbers((0, 1))
    box = FeasibleBox(make_problem(space, [1.0], never))
    children = np.ones((4000, 1))
    mutate(children, box, np.array([0.125]), np.random.default_rng(0))
    assert children.max() == 1.0
    # Half of the steps lead out and are clipped: deviation of the count sqrt(1000) = 31.6.
    assert abs((children == 1.0).sum() - 2000) < 4 * 31.6


def test_mutation_takes_another_category_always(
    make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace]
) -> None:
    space = categories(4)
    box = FeasibleBox(make_problem(space, [2.0], never))
    children = np.full((9000, 1), 2.0)
    mutate(children, box, np.array([0.125]), np.random.default_rng(0))
    counts = np.bincount(children.ravel().astype(int), minlength=4)
    assert counts[2] == 0
    # Three others, 1/3 each: deviation sqrt(9000 * 2/9) = 44.7.
    assert np.all(np.abs(counts[[0, 1, 3]] - 3000) < 4 * 44.7)


def test_tournaments_of_two_let_the_best_win_twice_and_the_worst_never() -> None:
    values = np.random.default_rng(1).random(1000)
    for seed in range(5):
        counts = np.bincount(winners(values, 2, np.random.default_rng(seed)), minlength=1000)
        assert counts.sum() == 1000
        assert counts.max() == 2
        assert counts[values.argmin()] == 2
        assert counts[values.argmax()] == 0


def test_tournaments_choose_by_rank() -> None:
    values = np.array([0.4, 0.1, 0.3, 0.2])
    counts = np.zeros(4)
    for seed in range(3000):
        counts += np.bincount(winners(values, 2, np.random.default_rng(seed)), minlength=4)
    # Two tournaments each; the opponent is worse with probability 0, 1, 1/3, 2/3 for the four values.
    assert np.abs(counts / 3000 - np.array([0, 2, 2 / 3, 4 / 3])).max() < 0.05


def test_tournaments_of_any_size() -> None:
    values = np.random.default_rng(2).random(10)
    best = int(values.argmin())
    assert sorted(winners(values, 1, np.random.default_rng(0))) == list(range(10))
    assert winners(values, 10, np.random.default_rng(0)).tolist() == [best] * 10
    assert (winners(values, 5, np.random.default_rng(0)) == best).sum() == 5
    assert len(winners(values, 3, np.random.default_rng(0))) == 10
