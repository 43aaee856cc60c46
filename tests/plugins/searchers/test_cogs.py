from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.cogs import Cogs, cross, initial_population, mutate, winners
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, answer_of, categories, never, numbers, rng

SMALL = Cogs(population_size=40, n_generations=10)


# ------------------------------------------------------------------ settings


def test_the_defaults_are_the_papers() -> None:
    assert Cogs().model_dump() == {
        "population_size": 1000,
        "n_generations": 100,
        "tournament_size": 2,
        "mutation_extent": 0.25,
        "final": "re-evaluated",
    }


# ------------------------------------------------------------------ the search


@pytest.mark.slow
def test_asks_101000_rows_and_finds_the_threshold() -> None:
    problem = SpiedProblem(numbers((0, 10)), [2.0], lambda Z: Z[:, 0] > 7)
    z = answer_of(Cogs(), problem)
    assert [len(Z) for Z in problem.asked] == [1000] * 101
    assert z[0] > 7
    assert z[0] == pytest.approx(7, abs=1e-3)


def test_finds_the_sparse_optimum_of_a_linear_threshold() -> None:
    weights = np.array([1.0, 2.0, 4.0, 0.5])
    problem = SpiedProblem(numbers(*[(0, 1)] * 4), np.zeros(4), lambda Z: Z @ weights > 1)
    z = answer_of(Cogs(population_size=300, n_generations=60), problem)
    # The cheapest way over the threshold is a quarter of the third feature's range alone.
    assert problem.distance(z[np.newaxis])[0] == pytest.approx(0.5 * 0.25 / 4 + 0.5 / 4, abs=1e-3)
    assert np.flatnonzero(z).tolist() == [2]


def test_finds_the_optimum_among_categories() -> None:
    problem = SpiedProblem(
        categories(3, 4, 2, 8, 1), np.zeros(5), lambda Z: (Z[:, 1] == 3) & (Z[:, 3] >= 6), constraints=True
    )
    z = answer_of(SMALL, problem)
    assert (z != 0).tolist() == [False, True, False, True, False]


class Noisy:
    """A problem under a term of random noise, which keeps every query with its values, costs included."""

    def __init__(self, max_queries: int | None = None, above: float = 0.5) -> None:
        self._noise = rng(5)
        self.queries: list[tuple[FloatArray, FloatArray, IntArray]] = []
        space = numbers((0, 1), (0, 1), (0, 1))
        options: dict[str, Any] = {"term": self._term, "term_draws": 64, "max_queries": max_queries}
        self.problem = SpiedProblem(space, np.zeros(3), lambda Z: Z[:, 0] > above, **options)

    def _term(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        term = self._noise.random(len(Z)) * 3
        self.queries.append((Z.copy(), self.problem.distance(Z) + (classes != 1) + term, classes.copy()))
        return term

    def search(self, searcher: Cogs, seed: int = 0) -> list[float] | None:
        z = searcher.search(self.problem, rng(seed))
        return None if z is None else z.tolist()

    def best_of(self, Z: FloatArray, values: FloatArray, classes: IntArray, n: int) -> list[list[float]]:
        """The `n` distinct rows of the target class with the smallest values, row by row."""
        found: list[list[float]] = []
        for i in sorted(range(len(Z)), key=lambda i: values[i]):
            if classes[i] == 1 and Z[i].tolist() not in found:
                found.append(Z[i].tolist())
        return found[:n]


def test_under_draws_the_20_best_of_the_last_generation_are_re_evaluated() -> None:
    noise = Noisy()
    z = noise.search(SMALL)
    *generations, last = noise.queries
    assert [len(Z) for Z, _, _ in generations] == [40] * 11
    finalists = noise.best_of(*generations[-1], 20)
    assert len(finalists) == 20
    rows, values, _ = last
    assert rows.tolist() == [row for row in finalists for _ in range(16)]
    means = values.reshape(20, 16).mean(axis=1)
    assert z == finalists[int(np.argmin(means))]
    assert z != finalists[0]  # else this would show nothing


def test_the_authors_take_the_last_generations_smallest_value() -> None:
    noise = Noisy()
    z = noise.search(Cogs(population_size=40, n_generations=10, final="authors"))
    assert [len(Z) for Z, _, _ in noise.queries] == [40] * 11
    assert z == noise.best_of(*noise.queries[-1], 1)[0]
    Z, values, classes = (np.concatenate(parts) for parts in zip(*noise.queries, strict=True))
    assert z != noise.best_of(Z, values, classes, 1)[0]  # the smallest value of all is another


@pytest.mark.parametrize(
    ("final", "budget", "generations", "reserved"),
    [
        ("authors", 100, [40, 40, 20], 0),
        ("re-evaluated", 100, [40, 10], 50),  # half of the budget, which is less than 20 x 16
        ("re-evaluated", 730, [40] * 10 + [10], 320),
        ("re-evaluated", 760, [40] * 11, 320),
        ("re-evaluated", 761, [40] * 11, 321),
        ("re-evaluated", 1000, [40] * 11, 560),
    ],
)
def test_a_budget_under_draws_leaves_the_present_population_to_choose_from(
    final: str, budget: int, generations: list[int], reserved: int
) -> None:
    noise = Noisy(budget)
    z = noise.search(Cogs.model_validate({**SMALL.model_dump(), "final": final}))
    assert [len(Z) for Z, _, _ in noise.queries[: len(generations)]] == generations
    evaluated = noise.queries[: len(generations)]
    present = evaluated[-1:] if generations[-1] == 40 else evaluated[-2:]
    Z, values, classes = (np.concatenate(parts) for parts in zip(*present, strict=True))
    finalists = noise.best_of(Z, values, classes, 20)
    if reserved:
        times = min(16, reserved // len(finalists))
        rows, fresh, _ = noise.queries[len(generations)]
        assert rows.tolist() == [row for row in finalists for _ in range(times)]
        finalists = [finalists[int(np.argmin(fresh.reshape(-1, times).mean(axis=1)))]]
    assert len(noise.queries) == len(generations) + (reserved > 0)
    assert z == finalists[0]


def test_a_last_generation_without_the_target_class_leaves_the_one_before() -> None:
    # A population of four loses the class by chance: the noise is larger than what a missed class costs.
    lost = 0
    for seed in range(40):
        noise = Noisy(above=0.8)
        z = noise.search(Cogs(population_size=4, n_generations=5), seed)
        generations = [query for query in noise.queries if len(query[0]) == 4]
        hits = [query for query in generations if (query[2] == 1).any()]
        if not hits:
            assert z is None
            continue
        lost += hits[-1] is not generations[-1]
        assert z in noise.best_of(*hits[-1], 20)
    assert lost > 2


def test_final_changes_nothing_without_draws() -> None:
    found = []
    for final in ("re-evaluated", "authors"):
        problem = SpiedProblem(
            numbers((0, 1), (0, 1), (0, 1)),
            np.zeros(3),
            lambda Z: Z[:, 0] > 0.5,
            term=lambda Z, classes: np.round(3 * np.sin(50 * Z).sum(axis=1), 1),
            term_draws=0,
        )
        z = Cogs.model_validate({**SMALL.model_dump(), "final": final}).search(problem, rng())
        assert z is not None
        rows = np.concatenate(problem.asked)
        assert len(rows) == 440
        hits = rows[rows[:, 0] > 0.5]
        values = problem.distance(hits) + np.round(3 * np.sin(50 * hits).sum(axis=1), 1)
        assert z.tolist() == hits[np.argmin(values)].tolist()  # the best ever
        found.append(rows.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("budget", [1, 5, 40, 95])
def test_a_budget_ends_the_search_with_the_best_so_far(budget: int) -> None:
    problem = SpiedProblem(numbers(*[(0, 1)] * 6), np.zeros(6), lambda Z: Z[:, 0] > 0.2, max_queries=budget)
    z = SMALL.search(problem, rng())
    rows = np.concatenate(problem.asked)
    assert len(rows) == budget
    hits = rows[rows[:, 0] > 0.2]
    if len(hits):
        assert z is not None
        assert z.tolist() == hits[np.argmin(problem.distance(hits))].tolist()
    else:
        assert z is None


@pytest.mark.parametrize("respect_steps", [False, True])
def test_constraints_leave_only_the_feasible_side(respect_steps: bool) -> None:
    problem = SpiedProblem(
        MIXED, MIXED_X, lambda Z: (Z[:, 0] > 60) & (Z[:, 4] == 2), constraints=True, respect_steps=respect_steps
    )
    z = Cogs(population_size=200, n_generations=30).search(problem, rng())
    rows = np.concatenate(problem.asked)
    assert problem.is_feasible(rows).all()
    assert rows[:, 0].min() == 40
    assert set(rows[:, 3]) == {1.75}
    assert set(rows[:, 5]) == {1.0}
    assert z is not None
    assert z[0] == (61 if respect_steps else pytest.approx(60, abs=0.5))
    assert (z != MIXED_X).tolist() == [True, False, False, False, True, False, False, False]


def test_a_few_valued_feature_still_moves_where_steps_hold() -> None:
    # Half of s_mut times a range of 3 is less than half a step: rounded, it would lead nowhere.
    space = FeatureSpace((FeatureSpec("rooms", Kind.NUMERICAL, 0, 3, step=1.0),))
    problem = SpiedProblem(space, [0.0], lambda Z: Z[:, 0] >= 2, respect_steps=True)
    z = answer_of(SMALL, problem)
    assert z.tolist() == [2.0]


def test_initial_population_copies_two_features_of_d() -> None:
    problem = SpiedProblem(numbers(*[(0, 1)] * 8), np.full(8, 0.3), never)
    population = initial_population(problem.box, problem.x, 10_000, rng())
    # A copy has probability 2/8; a draw hits 0.3 never. Deviation of the count: sqrt(80000 * 3/16) = 122.5.
    assert abs((population == 0.3).sum() - 20_000) < 4 * 122.5


@pytest.mark.parametrize("d", [1, 2])
def test_initial_population_of_few_features_is_half_drawn(d: int) -> None:
    problem = SpiedProblem(numbers(*[(0, 1)] * d), np.full(d, 0.3), never)
    population = initial_population(problem.box, problem.x, 10_000, rng())
    assert np.all(np.abs((population == 0.3).sum(axis=0) - 5000) < 4 * 50)


def test_crossover_gives_complementary_children() -> None:
    parents = np.arange(6 * 500, dtype=np.float64).reshape(6, 500)
    before = parents.copy()
    children = cross(parents, np.arange(6), rng())
    assert np.array_equal(parents, before)
    for i in range(3):
        pair, offspring = parents[[i, i + 3]], children[[i, i + 3]]
        assert np.array_equal(np.sort(offspring, axis=0), np.sort(pair, axis=0))
        # 500 features, each swapped with probability 1/2: deviation sqrt(125) = 11.2.
        assert abs((offspring[0] == pair[1]).sum() - 250) < 4 * 11.2


def test_mutation_alters_one_feature_of_d_and_keeps_its_reach() -> None:
    space = numbers((0, 1), (-50, 50), (0, 1e9), (0, 1e-9), (5, 6))
    x = (space.lower + space.upper) / 2
    box = SpiedProblem(space, x, never).box
    children = np.tile(x, (20_000, 1))
    mutate(children, box, 0.25 / 2 * space.ranges, rng())
    altered = children != x
    # Probability 1/5 a feature: deviation of a feature's count sqrt(20000 * 4/25) = 56.6.
    assert np.all(np.abs(altered.sum(axis=0) - 4000) < 4 * 56.6)
    moves = (children - x) / space.ranges
    assert np.abs(moves).max() <= 0.125 * (1 + 1e-6)
    # Uniform on [-1/8, 1/8]: the mean of 4,000 draws deviates by 0.25 / sqrt(12 * 4000) = 0.00114.
    for i in range(5):
        assert abs(moves[altered[:, i], i].mean()) < 4 * 0.00114
        assert np.abs(moves[:, i]).max() > 0.12


def test_mutation_stops_at_the_sides() -> None:
    space = numbers((0, 1))
    box = SpiedProblem(space, [1.0], never).box
    children = np.ones((4000, 1))
    mutate(children, box, np.array([0.125]), rng())
    assert children.max() == 1.0
    # Half of the steps lead out and are clipped: deviation of the count sqrt(1000) = 31.6.
    assert abs((children == 1.0).sum() - 2000) < 4 * 31.6


def test_mutation_takes_another_category_always() -> None:
    space = categories(4)
    box = SpiedProblem(space, [2.0], never).box
    children = np.full((9000, 1), 2.0)
    mutate(children, box, np.array([0.125]), rng())
    counts = np.bincount(children.ravel().astype(int), minlength=4)
    assert counts[2] == 0
    # Three others, 1/3 each: deviation sqrt(9000 * 2/9) = 44.7.
    assert np.all(np.abs(counts[[0, 1, 3]] - 3000) < 4 * 44.7)


def test_tournaments_of_two_let_the_best_win_twice_and_the_worst_never() -> None:
    values = rng(1).random(1000)
    for seed in range(5):
        counts = np.bincount(winners(values, 2, rng(seed)), minlength=1000)
        assert counts.sum() == 1000
        assert counts.max() == 2
        assert counts[values.argmin()] == 2
        assert counts[values.argmax()] == 0


def test_tournaments_of_any_size() -> None:
    values = rng(2).random(10)
    best = int(values.argmin())
    assert sorted(winners(values, 1, rng())) == list(range(10))
    assert winners(values, 10, rng()).tolist() == [best] * 10
    assert (winners(values, 5, rng()) == best).sum() == 5
    assert len(winners(values, 3, rng())) == 10
