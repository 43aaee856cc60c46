from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pydantic import ValidationError

from cfbench import BudgetExhausted, FeatureSpace, FeatureSpec, Kind, Problem, TrainingFold
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray
from cfbench_searchers.feasible_box import FeasibleBox
from cfbench_searchers.lore import Lore, mixed_distance, value_pool


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def fold(space: FeatureSpace, n: int = 300) -> TrainingFold:
    drawn = rng(9).random((n, space.d))
    X = space.lower + drawn * (space.upper - space.lower)
    X[:, space.is_categorical] = np.rint(X[:, space.is_categorical])
    return TrainingFold(X, np.zeros(n, dtype=np.int64))


def test_the_defaults_are_the_papers() -> None:
    assert Lore().model_dump() == {
        "population_size": 1000,
        "n_generations": 10,
        "tournament_size": 3,
        "crossover_probability": 0.5,
        "mutation_probability": 0.2,
        "n_attempts": 15,
        "epsilon": 1e-3,
        "rule": "counterfactual",
    }
    assert list(Lore.model_fields)[-1] == "rule"


def test_a_population_without_paired_halves_is_refused() -> None:
    with pytest.raises(ValidationError, match="so 10 must be a multiple of 4; try 8 or 12"):
        Lore(population_size=10)


def test_mixed_distance_by_hand() -> None:
    space = FeatureSpace(
        (
            FeatureSpec("n0", Kind.NUMERICAL, 0, 10),
            FeatureSpec("n1", Kind.NUMERICAL, 0, 1),
            FeatureSpec("c0", Kind.CATEGORICAL, 0, 2, ("a", "b", "c")),
        )
    )
    Z = np.array([[3.0, 0.4, 0.0], [0.0, 0.0, 2.0], [10.0, 1.0, 1.0]])
    # Two thirds of sqrt((0.3^2 + 0.4^2) / 2), one third of a mismatch, the whole.
    assert mixed_distance(space, Z, np.zeros(3)) == pytest.approx([2 / 3 * np.sqrt(0.125), 1 / 3, 1.0])


def test_value_pool_holds_real_and_normal_numbers_and_categories_evenly(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray
) -> None:
    X = np.tile(mixed_x, (400, 1))
    X[:, 1] = np.linspace(0, 100, 400)
    X[:40, 4] = 3.0
    training = TrainingFold(X, np.zeros(400, dtype=np.int64))
    problem = make_problem(mixed, mixed_x, lambda Z: np.zeros(len(Z)), constraints=True, training=training)
    pool = value_pool(problem, FeasibleBox(problem), rng())
    assert pool.shape == (800, 8)
    assert problem.is_feasible(pool).all()
    assert np.array_equal(pool[:400, 1], X[:, 1])
    # Mean 50, deviation 28.9: of 400 draws their mean deviates by 1.45.
    assert abs(pool[400:, 1].mean() - 50) < 4 * 1.45
    # Categories 0 and 3 occur, 3 in a tenth of the rows; both are as likely: deviation sqrt(800 / 4) = 14.1.
    counts = np.bincount(pool[:, 4].astype(int), minlength=4)
    assert counts[[1, 2]].tolist() == [0, 0]
    assert abs(counts[3] - 400) < 4 * 14.1


def test_half_of_the_neighbourhood_is_of_the_class_of_x_and_half_of_another(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    space = numbers((0, 10), (0, 10), (0, 10))
    problem = make_problem(space, [2.0, 2.0, 2.0], lambda Z: Z[:, 0] > 5, training=fold(space))
    Z, classes = Lore().neighbourhood(problem, FeasibleBox(problem), rng())
    assert [len(rows) for rows in asked] == [1] + [1000] * 10
    assert np.array_equal(classes, Z[:, 0] > 5)
    assert Z[0].tolist() == [2, 2, 2]
    assert (classes[1:501] == 0).mean() > 0.8
    assert (classes[501:] == 1).mean() > 0.8
    # Neighbours are near: further features were redrawn and selected away.
    assert np.median((Z[501:] != 2).sum(axis=1)) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_threshold_and_changes_nothing_else(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], seed: int
) -> None:
    space = numbers((0, 10), (0, 10), (0, 10))
    problem = make_problem(space, [2.0, 2.0, 2.0], lambda Z: Z[:, 1] > 7, training=fold(space))
    z = Lore().search(problem, rng(seed))
    assert z is not None
    assert z[[0, 2]].tolist() == [2, 2]
    assert 7 < z[1] < 7.5


def test_finds_a_category_among_three_classes(
    make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace]
) -> None:
    space = categories(3, 4, 2)
    problem = make_problem(
        space, [0, 0, 0], lambda Z: np.where(Z[:, 1] == 2, 1, np.where(Z[:, 0] == 1, 2, 0)), training=fold(space)
    )
    z = Lore().search(problem, rng())
    assert z is not None
    assert z.tolist() == [0, 2, 0]


def test_passes_the_threshold_by_doubled_steps(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    space = numbers((0, 10))
    problem = make_problem(space, [9.0], lambda Z: Z[:, 0] < 4, training=fold(space))
    z = Lore().search(problem, rng())
    attempts = asked[-1][:, 0]
    assert len(attempts) == 16
    pushes = [0, *(1e-3 * 2**i for i in range(15))]
    assert attempts == pytest.approx([max(attempts[0] - push, 0) for push in pushes])
    assert z is not None
    assert z[0] == attempts[attempts < 4][0]


def test_the_factual_rule_moves_x_to_its_own_threshold_and_inwards(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    space = numbers((0, 10))
    problem = make_problem(space, [9.0], lambda Z: Z[:, 0] <= 4, training=fold(space))
    z = Lore(rule="factual").search(problem, rng())
    attempts = asked[-1][:, 0]
    # The rule of x is "above about 4". Only its threshold can be of the target class; a push leads away from that.
    assert attempts[0] == pytest.approx(4, abs=0.2)
    assert attempts == pytest.approx([min(attempts[0] + push, 10) for push in [0, *(1e-3 * 2**i for i in range(15))]])
    assert (z is not None) == bool((attempts <= 4).any())
    assert z is None or z[0] == attempts[attempts <= 4][0]


def test_the_factual_rule_finds_what_is_at_its_threshold(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace]
) -> None:
    # The tree's threshold lies between the neighbours next to 5, by chance on either side of it.
    space = numbers((0, 10), (0, 10))
    found = []
    for seed in range(8):
        problem = make_problem(space, [9.0, 5.0], lambda Z: (Z[:, 0] < 5).astype(int), training=fold(space))
        found.append(Lore(rule="factual").search(problem, rng(seed)))
        reason = trace_of(problem).reason
        assert reason == ("no attempt at applying the rule of x is of the target class" if found[-1] is None else "")
    hits = [z for z in found if z is not None]
    assert 0 < len(hits) < len(found)
    assert all(4.5 < z[0] < 5 and z[1] == 5 for z in hits)


def test_a_factual_rule_without_a_number_gives_the_reason(
    make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    space = categories(3, 4, 2)
    problem = make_problem(space, [0, 0, 0], lambda Z: Z[:, 1] == 2, training=fold(space))
    assert Lore(population_size=100, rule="factual").search(problem, rng()) is None
    assert trace_of(problem).reason == "the rule of x has no numerical condition"
    assert [len(rows) for rows in asked] == [1] + [100] * 10


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValidationError, match="'counterfactual' or 'factual'"):
        Lore.model_validate({"rule": "shortest"})


def test_none_where_the_neighbourhood_holds_no_target(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray]
) -> None:
    problem = make_problem(mixed, mixed_x, lambda Z: 2 * (Z[:, 0] > 50), training=fold(mixed))
    assert Lore(population_size=100).search(problem, rng()) is None
    assert sum(map(len, asked)) == 1 + 10 * 100


@pytest.mark.parametrize("respect_steps", [False, True])
def test_every_row_asked_for_a_factual_rule_is_feasible(
    make_problem: Callable[..., Problem],
    mixed: FeatureSpace,
    mixed_x: FloatArray,
    asked: list[FloatArray],
    respect_steps: bool,
) -> None:
    options = {"constraints": True, "respect_steps": respect_steps, "training": fold(mixed)}
    problem = make_problem(mixed, mixed_x, lambda Z: Z[:, 0] > 60, **options)
    Lore(population_size=200, rule="factual").search(problem, rng())
    assert problem.is_feasible(np.concatenate(asked)).all()
    assert len(asked[-1]) == 16


@pytest.mark.parametrize("respect_steps", [False, True])
def test_every_row_asked_is_feasible(
    make_problem: Callable[..., Problem],
    mixed: FeatureSpace,
    mixed_x: FloatArray,
    asked: list[FloatArray],
    respect_steps: bool,
) -> None:
    problem = make_problem(
        mixed,
        mixed_x,
        lambda Z: Z[:, 0] > 60,
        constraints=True,
        respect_steps=respect_steps,
        training=fold(mixed),
    )
    z = Lore(population_size=200).search(problem, rng())
    assert problem.is_feasible(np.concatenate(asked)).all()
    assert z is not None
    assert z[0] > 60
    assert z[1:].tolist() == mixed_x[1:].tolist()


def test_same_generator_same_search(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray, asked: list[FloatArray]
) -> None:
    runs = []
    for seed in (3, 3, 4):
        asked.clear()
        problem = make_problem(mixed, mixed_x, lambda Z: Z[:, 4] == 3, training=fold(mixed))
        Lore(population_size=40).search(problem, rng(seed))
        runs.append(np.concatenate(asked).tolist())
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize("budget", [1, 5, 150])
def test_an_exhausted_budget_passes(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], budget: int
) -> None:
    space = numbers((0, 1))
    problem = make_problem(space, [0.0], lambda Z: Z[:, 0] > 0.5, training=fold(space), max_queries=budget)
    with pytest.raises(BudgetExhausted):
        Lore(population_size=40).search(problem, rng())
