from __future__ import annotations

import numpy as np
import pytest

from cfbench_searchers.random_search import RandomSearch, some_features
from tests.plugins.searchers.problems import SpiedProblem, answer_of, numbers, rng


def test_every_number_and_every_choice_of_features_is_equally_likely() -> None:
    chosen = some_features(40_000, 4, rng())
    # Probability 1/4 a number: deviation of a count sqrt(40000 * 3/16) = 86.6.
    assert np.all(np.abs(np.bincount(chosen.sum(axis=1), minlength=5)[1:] - 10_000) < 4 * 86.6)
    # A feature is chosen with probability (1/4)(1/4 + 2/4 + 3/4 + 1) = 5/8: deviation sqrt(40000 * 15/64) = 96.8.
    assert np.all(np.abs(chosen.sum(axis=0) - 25_000) < 4 * 96.8)


def test_asks_what_it_was_told_and_returns_the_best() -> None:
    problem = SpiedProblem(numbers((0, 1), (0, 1), (0, 1)), np.zeros(3), lambda Z: Z[:, 1] > 0.5)
    z = answer_of(RandomSearch(n_rows=2500), problem)
    assert [len(Z) for Z in problem.asked] == [1000, 1000, 500]
    rows = np.concatenate(problem.asked)
    hits = rows[rows[:, 1] > 0.5]
    assert z.tolist() == hits[np.argmin(problem.distance(hits))].tolist()
    # 2,500 rows hold about 278 with the second feature alone redrawn: the best of them is close to 0.5.
    assert np.flatnonzero(z).tolist() == [1]
    assert z[1] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("budget", [1, 5, 1500])
def test_a_budget_ends_the_search(budget: int) -> None:
    problem = SpiedProblem(numbers((0, 1)), [0.0], lambda Z: Z[:, 0] >= 0, max_queries=budget)
    z = answer_of(RandomSearch(), problem)
    assert z.tolist() == np.concatenate(problem.asked).min(axis=0).tolist()
    assert sum(map(len, problem.asked)) == budget


@pytest.mark.parametrize(("budget", "again"), [(None, 160), (1000, 160), (480, 160), (200, 100)])
def test_under_draws_the_ten_best_are_re_evaluated(budget: int | None, again: int) -> None:
    draws = rng()
    problem = SpiedProblem(
        numbers((0, 1)),
        [0.0],
        lambda Z: Z[:, 0] > 0.2,
        term=lambda Z, classes: 3 * draws.random(len(Z)),
        term_draws=64,
        max_queries=budget,
    )
    z = answer_of(RandomSearch(n_rows=500, batch_size=100), problem, 1)
    rows = np.concatenate(problem.asked)
    searched = 500 if budget is None else min(500, budget - again)
    assert len(rows) == searched + again
    times = again // 10
    assert rows[searched:].tolist() == np.repeat(rows[searched::times], times, axis=0).tolist()
    assert z.tolist() in rows[searched::times].tolist()
