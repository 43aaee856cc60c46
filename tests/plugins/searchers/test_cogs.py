from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind, Problem
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.cogs import Cogs

SMALL = Cogs(population_size=40, n_generations=10)


def never(Z: FloatArray) -> FloatArray:
    return np.zeros(len(Z))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# ------------------------------------------------------------------ settings


def test_the_defaults_are_the_papers() -> None:
    assert Cogs().model_dump() == {
        "population_size": 1000,
        "n_generations": 100,
        "tournament_size": 2,
        "mutation_extent": 0.25,
        "final": "re-evaluated",
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"population_size": 7}, "parents are paired, so 7 must be an even number; try 6 or 8"),
        ({"population_size": 0}, "greater than or equal to 2"),
        ({"n_generations": 0}, "greater than or equal to 1"),
        ({"tournament_size": 0}, "greater than or equal to 1"),
        ({"population_size": 4, "tournament_size": 5}, "a tournament of 5 needs as many contenders"),
        ({"mutation_extent": 0.0}, "greater than 0"),
        ({"mutation_extent": 1.01}, "less than or equal to 1"),
        ({"popsize": 10}, "Extra inputs are not permitted"),
    ],
)
def test_impossible_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Cogs(**wrong)


# ------------------------------------------------------------------ the search


@pytest.mark.slow
def test_asks_101000_rows_and_finds_the_threshold(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    problem = make_problem(numbers((0, 10)), [2.0], lambda Z: Z[:, 0] > 7)
    z = Cogs().search(problem, rng())
    assert [len(Z) for Z in asked] == [1000] * 101
    assert z is not None
    assert z[0] > 7
    assert z[0] == pytest.approx(7, abs=1e-3)


def test_finds_the_sparse_optimum_of_a_linear_threshold(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    weights = np.array([1.0, 2.0, 4.0, 0.5])
    problem = make_problem(numbers(*[(0, 1)] * 4), np.zeros(4), lambda Z: Z @ weights > 1)
    z = Cogs().search(problem, rng())
    assert z is not None
    # The cheapest way over the threshold is a quarter of the third feature's range alone.
    assert problem.distance(z[np.newaxis])[0] == pytest.approx(0.5 * 0.25 / 4 + 0.5 / 4, abs=1e-3)
    assert np.flatnonzero(z).tolist() == [2]


def test_finds_the_optimum_among_categories(
    make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace]
) -> None:
    problem = make_problem(
        categories(3, 4, 2, 8, 1), np.zeros(5), lambda Z: (Z[:, 1] == 3) & (Z[:, 3] >= 6), constraints=True
    )
    z = SMALL.search(problem, rng())
    assert z is not None
    assert (z != 0).tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("classes", [2, 3])
def test_none_where_the_model_never_says_the_target(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray, classes: int
) -> None:
    problem = make_problem(mixed, mixed_x, lambda Z: np.where(Z[:, 0] > 50, 2 * (classes - 2), 0))
    assert SMALL.search(problem, rng()) is None


def test_same_generator_same_search(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray]
) -> None:
    np.random.seed(1)  # noqa: NPY002 - the search must leave the global generator alone
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    runs = []
    for seed in (3, 3, 4):
        asked.clear()
        z = SMALL.search(make_problem(mixed, mixed_x, lambda Z: Z[:, 4] == 3), rng(seed))
        assert z is not None
        runs.append((z.tolist(), np.concatenate(asked)))
    assert runs[0][0] == runs[1][0]
    assert np.array_equal(runs[0][1], runs[1][1])
    assert not np.array_equal(runs[0][1], runs[2][1])
    assert np.random.random() == expected  # noqa: NPY002


class Noisy:
    """A term of random noise, which keeps every question with its values, costs included."""

    def __init__(self) -> None:
        self._noise = rng(5)
        self.problem: Problem | None = None
        self.queries: list[tuple[FloatArray, FloatArray, IntArray]] = []

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        assert self.problem is not None
        term = self._noise.random(len(Z)) * 3
        self.queries.append((Z.copy(), self.problem.distance(Z) + (classes != 1) + term, classes.copy()))
        return term

    def best_of(self, Z: FloatArray, values: FloatArray, classes: IntArray, n: int) -> list[list[float]]:
        """The `n` distinct rows of the target class with the smallest values, row by row."""
        found: list[list[float]] = []
        for i in sorted(range(len(Z)), key=lambda i: values[i]):
            if classes[i] == 1 and Z[i].tolist() not in found:
                found.append(Z[i].tolist())
        return found[:n]


@pytest.fixture
def noisy(make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]) -> Callable[..., Noisy]:
    def make(max_queries: int | None = None, above: float = 0.5) -> Noisy:
        noise = Noisy()
        noise.problem = make_problem(
            numbers((0, 1), (0, 1), (0, 1)),
            np.zeros(3),
            lambda Z: Z[:, 0] > above,
            term=noise,
            term_draws=64,
            max_queries=max_queries,
        )
        return noise

    return make


def searched(noise: Noisy, searcher: Cogs, seed: int = 0) -> list[float] | None:
    assert noise.problem is not None
    z = searcher.search(noise.problem, rng(seed))
    return None if z is None else z.tolist()


def test_under_draws_the_20_best_of_the_last_generation_are_re_evaluated(noisy: Callable[..., Noisy]) -> None:
    noise = noisy()
    z = searched(noise, SMALL)
    *generations, last = noise.queries
    assert [len(Z) for Z, _, _ in generations] == [40] * 11
    finalists = noise.best_of(*generations[-1], 20)
    assert len(finalists) == 20
    rows, values, _ = last
    assert rows.tolist() == [row for row in finalists for _ in range(16)]
    means = values.reshape(20, 16).mean(axis=1)
    assert z == finalists[int(np.argmin(means))]
    assert z != finalists[0]  # else this would show nothing


def test_the_authors_take_the_last_generations_smallest_value(noisy: Callable[..., Noisy]) -> None:
    noise = noisy()
    z = searched(noise, Cogs(population_size=40, n_generations=10, final="authors"))
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
    noisy: Callable[..., Noisy], final: str, budget: int, generations: list[int], reserved: int
) -> None:
    noise = noisy(budget)
    z = searched(noise, Cogs.model_validate({**SMALL.model_dump(), "final": final}))
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


def test_a_last_generation_without_the_target_class_leaves_the_one_before(noisy: Callable[..., Noisy]) -> None:
    # A population of four loses the class by chance: the noise is larger than what a missed class costs.
    lost = 0
    for seed in range(40):
        noise = noisy(above=0.8)
        z = searched(noise, Cogs(population_size=4, n_generations=5), seed)
        generations = [query for query in noise.queries if len(query[0]) == 4]
        hits = [query for query in generations if (query[2] == 1).any()]
        if not hits:
            assert z is None
            continue
        lost += hits[-1] is not generations[-1]
        assert z in noise.best_of(*hits[-1], 20)
    assert lost > 2


def test_final_changes_nothing_without_draws(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    found = []
    for final in ("re-evaluated", "authors"):
        asked.clear()
        problem = make_problem(
            numbers((0, 1), (0, 1), (0, 1)),
            np.zeros(3),
            lambda Z: Z[:, 0] > 0.5,
            term=lambda Z, classes: np.round(3 * np.sin(50 * Z).sum(axis=1), 1),
            term_draws=0,
        )
        z = Cogs.model_validate({**SMALL.model_dump(), "final": final}).search(problem, rng())
        assert z is not None
        rows = np.concatenate(asked)
        assert len(rows) == 440
        hits = rows[rows[:, 0] > 0.5]
        values = problem.distance(hits) + np.round(3 * np.sin(50 * hits).sum(axis=1), 1)
        assert z.tolist() == hits[np.argmin(values)].tolist()  # the best ever
        found.append(rows.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("budget", [1, 5, 40, 95])
def test_a_budget_ends_the_search_with_the_best_so_far(
    make_problem: Callable[..., Problem],
    numbers: Callable[..., FeatureSpace],
    asked: list[FloatArray],
    budget: int,
) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 6), np.zeros(6), lambda Z: Z[:, 0] > 0.2, max_queries=budget)
    z = SMALL.search(problem, rng())
    rows = np.concatenate(asked)
    assert len(rows) == budget
    hits = rows[rows[:, 0] > 0.2]
    if len(hits):
        assert z is not None
        assert z.tolist() == hits[np.argmin(problem.distance(hits))].tolist()
    else:
        assert z is None


@st.composite
def spaces_and_points(draw: st.DrawFn) -> tuple[FeatureSpace, FloatArray]:
    features, x = [], []
    for i in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            count = draw(st.integers(1, 4))
            constraint = draw(st.sampled_from([Constraint.FREE, Constraint.FIXED]))
            features.append(
                FeatureSpec(f"c{i}", Kind.CATEGORICAL, 0, count - 1, tuple("abcd"[:count]), constraint=constraint)
            )
            x.append(float(draw(st.integers(0, count - 1))))
        else:
            lower = float(draw(st.integers(-3, 3)))
            width = draw(st.sampled_from([1e-9, 1.0, 3.0, 1e9]))
            step = 1.0 if width >= 1 and draw(st.booleans()) else None
            constraint = draw(st.sampled_from(list(Constraint)))
            features.append(
                FeatureSpec(f"n{i}", Kind.NUMERICAL, lower, lower + width, constraint=constraint, step=step)
            )
            x.append(draw(st.sampled_from([lower, lower + width])))
    return FeatureSpace(tuple(features)), np.array(x)


@settings(max_examples=60)
@given(drawn=spaces_and_points(), constraints=st.booleans(), respect_steps=st.booleans(), seed=st.integers(0, 99))
def test_every_candidate_is_feasible(
    make_problem: Callable[..., Problem],
    asked: list[FloatArray],
    drawn: tuple[FeatureSpace, FloatArray],
    constraints: bool,
    respect_steps: bool,
    seed: int,
) -> None:
    asked.clear()
    space, x = drawn
    problem = make_problem(space, x, never, constraints=constraints, respect_steps=respect_steps)
    Cogs(population_size=10, n_generations=5, mutation_extent=1.0).search(problem, rng(seed))
    Z = np.concatenate(asked)
    assert len(Z) == 60
    assert problem.is_feasible(Z).all()


@pytest.mark.parametrize("respect_steps", [False, True])
def test_constraints_leave_only_the_feasible_side(
    make_problem: Callable[..., Problem],
    mixed: FeatureSpace,
    mixed_x: FloatArray,
    asked: list[FloatArray],
    respect_steps: bool,
) -> None:
    problem = make_problem(
        mixed, mixed_x, lambda Z: (Z[:, 0] > 60) & (Z[:, 4] == 2), constraints=True, respect_steps=respect_steps
    )
    z = Cogs(population_size=200, n_generations=30).search(problem, rng())
    rows = np.concatenate(asked)
    assert problem.is_feasible(rows).all()
    assert rows[:, 0].min() == 40
    assert set(rows[:, 3]) == {1.75}
    assert set(rows[:, 5]) == {1.0}
    assert z is not None
    assert z[0] == (61 if respect_steps else pytest.approx(60, abs=0.5))
    assert (z != mixed_x).tolist() == [True, False, False, False, True, False, False, False]


def test_a_few_valued_feature_still_moves_where_steps_hold(make_problem: Callable[..., Problem]) -> None:
    # Half of s_mut times a range of 3 is less than half a step: rounded, it would lead nowhere.
    space = FeatureSpace((FeatureSpec("rooms", Kind.NUMERICAL, 0, 3, step=1.0),))
    problem = make_problem(space, [0.0], lambda Z: Z[:, 0] >= 2, respect_steps=True)
    z = SMALL.search(problem, rng())
    assert z is not None
    assert z.tolist() == [2.0]


def test_settings_travel_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(SMALL)) == SMALL
