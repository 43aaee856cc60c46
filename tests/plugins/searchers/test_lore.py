from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from cfbench import FeatureSpace, FeatureSpec, Kind, TrainingFold
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray
from cfbench_searchers.lore import (
    FactualRule,
    FoldValues,
    Lore,
    Rule,
    counterfactual_rules,
    factual_rule,
    mixed_distance,
)
from tests.plugins.searchers.problems import (
    MIXED,
    MIXED_X,
    SpiedProblem,
    answer_of,
    categories,
    never,
    numbers,
    rng,
    searched,
)


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


def test_value_pool_holds_real_and_normal_numbers_and_categories_evenly() -> None:
    X = np.tile(MIXED_X, (400, 1))
    X[:, 1] = np.linspace(0, 100, 400)
    X[:40, 4] = 3.0
    training = TrainingFold(X, np.zeros(400, dtype=np.int64))
    problem = SpiedProblem(MIXED, MIXED_X, never, constraints=True, training=training)
    pool = FoldValues.of(X, MIXED).pool(problem, rng())
    assert pool.shape == (800, 8)
    assert problem.is_feasible(pool).all()
    assert np.array_equal(pool[:400, 1], X[:, 1])
    # Mean 50, deviation 28.9: of 400 draws their mean deviates by 1.45.
    assert abs(pool[400:, 1].mean() - 50) < 4 * 1.45
    # Categories 0 and 3 occur, 3 in a tenth of the rows; both are as likely: deviation sqrt(800 / 4) = 14.1.
    counts = np.bincount(pool[:, 4].astype(int), minlength=4)
    assert counts[[1, 2]].tolist() == [0, 0]
    assert abs(counts[3] - 400) < 4 * 14.1


def test_half_of_the_neighbourhood_is_of_the_class_of_x_and_half_of_another() -> None:
    space = numbers((0, 10), (0, 10), (0, 10))
    problem = SpiedProblem(space, [2.0, 2.0, 2.0], lambda Z: Z[:, 0] > 5, training=fold(space))
    Z, classes = Lore().neighbourhood(problem, FoldValues.of(fold(space).X, space).pool(problem, rng()), rng())
    assert [len(rows) for rows in problem.asked] == [1] + [1000] * 10
    assert np.array_equal(classes, Z[:, 0] > 5)
    assert Z[0].tolist() == [2, 2, 2]
    assert (classes[1:501] == 0).mean() > 0.8
    assert (classes[501:] == 1).mean() > 0.8
    # Neighbours are near: further features were redrawn and selected away.
    assert np.median((Z[501:] != 2).sum(axis=1)) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_threshold_and_changes_nothing_else(seed: int) -> None:
    space = numbers((0, 10), (0, 10), (0, 10))
    problem = SpiedProblem(space, [2.0, 2.0, 2.0], lambda Z: Z[:, 1] > 7, training=fold(space))
    z = answer_of(Lore(), problem, seed)
    assert z[[0, 2]].tolist() == [2, 2]
    assert 7 < z[1] < 7.5


def test_finds_a_category_among_three_classes() -> None:
    space = categories(3, 4, 2)
    problem = SpiedProblem(
        space, [0, 0, 0], lambda Z: np.where(Z[:, 1] == 2, 1, np.where(Z[:, 0] == 1, 2, 0)), training=fold(space)
    )
    z = answer_of(Lore(), problem)
    assert z.tolist() == [0, 2, 0]


def test_passes_the_threshold_by_doubled_steps() -> None:
    space = numbers((0, 10))
    problem = SpiedProblem(space, [9.0], lambda Z: Z[:, 0] < 4, training=fold(space))
    z = answer_of(Lore(), problem)
    attempts = problem.asked[-1][:, 0]
    assert len(attempts) == 16
    pushes = [0, *(1e-3 * 2**i for i in range(15))]
    assert attempts == pytest.approx([max(attempts[0] - push, 0) for push in pushes])
    assert z[0] == attempts[attempts < 4][0]


def test_the_factual_rule_moves_x_to_its_own_threshold_and_inwards() -> None:
    space = numbers((0, 10))
    problem = SpiedProblem(space, [9.0], lambda Z: Z[:, 0] <= 4, training=fold(space))
    z = searched(Lore(rule="factual"), problem)
    attempts = problem.asked[-1][:, 0]
    # The rule of x is "above about 4". Only its threshold can be of the target class; a push leads away from that.
    assert attempts[0] == pytest.approx(4, abs=0.2)
    assert attempts == pytest.approx([min(attempts[0] + push, 10) for push in [0, *(1e-3 * 2**i for i in range(15))]])
    assert (z is not None) == bool((attempts <= 4).any())
    assert z is None or z[0] == attempts[attempts <= 4][0]


def test_the_factual_rule_finds_what_is_at_its_threshold() -> None:
    # The tree's threshold lies between the neighbours next to 5, by chance on either side of it.
    space = numbers((0, 10), (0, 10))
    found = []
    for seed in range(8):
        problem = SpiedProblem(space, [9.0, 5.0], lambda Z: (Z[:, 0] < 5).astype(int), training=fold(space))
        found.append(searched(Lore(rule="factual"), problem, seed))
        reason = trace_of(problem).reason
        assert reason == ("no attempt at applying the rule of x is of the target class" if found[-1] is None else "")
    hits = [z for z in found if z is not None]
    assert 0 < len(hits) < len(found)
    assert all(4.5 < z[0] < 5 and z[1] == 5 for z in hits)


def test_a_factual_rule_without_a_number_gives_the_reason() -> None:
    space = categories(3, 4, 2)
    problem = SpiedProblem(space, [0, 0, 0], lambda Z: Z[:, 1] == 2, training=fold(space))
    assert searched(Lore(population_size=100, rule="factual"), problem) is None
    assert trace_of(problem).reason == "the rule of x has no numerical condition"
    assert [len(rows) for rows in problem.asked] == [1] + [100] * 10


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValidationError, match="'counterfactual' or 'factual'"):
        Lore.model_validate({"rule": "shortest"})


def test_none_where_the_neighbourhood_holds_no_target() -> None:
    problem = SpiedProblem(MIXED, MIXED_X, lambda Z: 2 * (Z[:, 0] > 50), training=fold(MIXED))
    assert searched(Lore(population_size=100), problem) is None
    assert sum(map(len, problem.asked)) == 1 + 10 * 100


@pytest.mark.parametrize("respect_steps", [False, True])
def test_every_row_asked_for_a_factual_rule_is_feasible(respect_steps: bool) -> None:
    options: dict[str, Any] = {"constraints": True, "respect_steps": respect_steps, "training": fold(MIXED)}
    problem = SpiedProblem(MIXED, MIXED_X, lambda Z: Z[:, 0] > 60, **options)
    searched(Lore(population_size=200, rule="factual"), problem)
    assert problem.is_feasible(np.concatenate(problem.asked)).all()
    assert len(problem.asked[-1]) == 16


SPACE = FeatureSpace(
    (
        FeatureSpec("wide", Kind.NUMERICAL, 0, 1e6),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("a", "b", "c", "d")),
        FeatureSpec("narrow", Kind.NUMERICAL, 5, 5 + 1e-6),
    )
)


def rules_of(x: list[float], Z: FloatArray, target_rows: NDArray[np.bool_]) -> list[Rule]:
    return counterfactual_rules(SPACE, np.array(x), Z, target_rows.astype(np.int64), target=1, seed=0)


def grid() -> FloatArray:
    shares = np.linspace(0, 1, 11)
    wide, job, narrow = np.meshgrid(1e6 * shares, np.arange(4), 5 + 1e-6 * shares, indexing="ij")
    return np.column_stack([wide.ravel(), job.ravel(), narrow.ravel()])


def test_a_threshold_becomes_a_rule_and_is_passed() -> None:
    Z = grid()
    (rule,) = rules_of([0, 0, 5], Z, Z[:, 0] > 6.5e5)
    assert rule.features.tolist() == [0]
    assert rule.values == pytest.approx([6.5e5])
    assert rule.directions.tolist() == [1]
    assert rule.n_conditions == 1
    applied = rule.applied(np.array([0, 0, 5.0]), np.array([0, 10.0]))
    assert applied == pytest.approx(np.array([[6.5e5, 0, 5], [6.5e5 + 10, 0, 5]]))


def test_a_ceiling_is_passed_downwards_also_in_a_narrow_range() -> None:
    Z = grid()
    (rule,) = rules_of([0, 0, 5 + 9e-7], Z, Z[:, 2] < 5 + 4.5e-7)
    assert rule.values - 5 == pytest.approx([4.5e-7], rel=1e-3)
    assert rule.directions.tolist() == [-1]


def test_a_category_is_put_in_whichever_way_the_tree_asks_for_it() -> None:
    Z = grid()
    (wanted,) = rules_of([0, 0, 5], Z, Z[:, 1] == 2)
    assert (wanted.features.tolist(), wanted.values.tolist(), wanted.directions.tolist()) == ([1], [2], [0])
    # All but category 3 will do: the neighbours in the leaf are mostly of category 1 here.
    mostly_b = np.concatenate([Z[Z[:, 1] != 0], Z[Z[:, 1] == 1]])
    (other,) = rules_of([0, 3, 5], mostly_b, mostly_b[:, 1] != 3)
    assert (other.features.tolist(), other.values.tolist(), other.n_conditions) == ([1], [1], 1)


def test_only_violated_conditions_change_x_and_all_conditions_count() -> None:
    Z = grid()
    target_rows = (Z[:, 0] > 6.5e5) & (Z[:, 0] < 8.5e5) & (Z[:, 1] == 2)
    rules = rules_of([7e5, 0, 5], Z, target_rows)
    assert [(rule.features.tolist(), rule.n_conditions) for rule in rules] == [([1], 3)]


def test_a_rule_that_x_keeps_is_none() -> None:
    Z = grid()
    assert rules_of([9e5, 0, 5], Z, Z[:, 0] > 6.5e5) == []
    assert rules_of([9e5, 0, 5], Z, Z[:, 0] > 1e6) == []


def test_the_factual_rule_is_the_path_that_x_takes() -> None:
    Z = grid()
    inside = (Z[:, 0] > 2.5e5) & (Z[:, 0] < 6.5e5)
    x = np.array([3e5, 0, 5.0])
    rule = factual_rule(SPACE, x, Z, inside.astype(np.int64), seed=0)
    assert rule is not None
    assert rule.features.tolist() == [0]
    assert rule.lower == pytest.approx([2.5e5])
    assert rule.upper == pytest.approx([6.5e5])
    # The nearer end, and from there inwards: past 3.5e5 beyond the lower end, the upper one is nearer to x.
    applied = rule.applied(x, np.array([0, 10.0, 4e5]))
    assert applied == pytest.approx(np.array([[2.5e5, 0, 5], [2.5e5 + 10, 0, 5], [2.5e5, 0, 5]]))


def test_a_factual_rule_with_one_end_is_applied_inwards() -> None:
    inf = np.inf
    rule = FactualRule(np.array([0, 2]), np.array([3.0, -inf]), np.array([inf, 8.0]))
    applied = rule.applied(np.array([4.0, 1.0, 5.0]), np.array([0, 0.5]))
    assert applied.tolist() == [[3, 1, 8], [3.5, 1, 7.5]]
    # Of two ends equally near, the upper one.
    between = FactualRule(np.array([1]), np.array([0.0]), np.array([2.0]))
    assert between.applied(np.array([4.0, 1.0, 5.0]), np.array([0, 0.25])).tolist() == [[4, 2, 5], [4, 1.75, 5]]


def test_the_factual_rule_is_of_any_class_and_has_numerical_conditions_alone() -> None:
    Z = grid()
    classes = np.where(Z[:, 1] == 2, 2, np.where(Z[:, 0] > 6.5e5, 1, 0))
    rules = {x: factual_rule(SPACE, np.array(x), Z, classes, seed=0) for x in [(0.0, 0, 5.0), (9e5, 0, 5.0)]}
    low, high = rules.values()
    assert low is not None
    assert high is not None
    assert (low.features.tolist(), low.lower.tolist()) == ([0], [-np.inf])
    assert (high.features.tolist(), high.upper.tolist()) == ([0], [np.inf])
    assert low.upper == pytest.approx([6.5e5])
    assert high.lower == pytest.approx([6.5e5])
    assert factual_rule(SPACE, np.array([0.0, 2, 5.0]), Z, (Z[:, 1] == 2).astype(np.int64), seed=0) is None
