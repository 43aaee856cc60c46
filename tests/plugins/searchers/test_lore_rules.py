from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from cfbench_searchers.lore import FactualRule, Rule, counterfactual_rules, factual_rule


@pytest.fixture
def space() -> FeatureSpace:
    return FeatureSpace(
        (
            FeatureSpec("wide", Kind.NUMERICAL, 0, 1e6),
            FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("a", "b", "c", "d")),
            FeatureSpec("narrow", Kind.NUMERICAL, 5, 5 + 1e-6),
        )
    )


def rules_of(space: FeatureSpace, x: list[float], Z: FloatArray, target_rows: NDArray[np.bool_]) -> list[Rule]:
    return counterfactual_rules(space, np.array(x), Z, target_rows.astype(np.int64), target=1, seed=0)


def grid(space: FeatureSpace) -> FloatArray:
    shares = np.linspace(0, 1, 11)
    wide, job, narrow = np.meshgrid(1e6 * shares, np.arange(4), 5 + 1e-6 * shares, indexing="ij")
    return np.column_stack([wide.ravel(), job.ravel(), narrow.ravel()])


def test_a_threshold_becomes_a_rule_and_is_passed(space: FeatureSpace) -> None:
    Z = grid(space)
    (rule,) = rules_of(space, [0, 0, 5], Z, Z[:, 0] > 6.5e5)
    assert rule.features.tolist() == [0]
    assert rule.values == pytest.approx([6.5e5])
    assert rule.directions.tolist() == [1]
    assert rule.n_conditions == 1
    applied = rule.applied(np.array([0, 0, 5.0]), np.array([0, 10.0]))
    assert applied == pytest.approx(np.array([[6.5e5, 0, 5], [6.5e5 + 10, 0, 5]]))


def test_a_ceiling_is_passed_downwards_also_in_a_narrow_range(space: FeatureSpace) -> None:
    Z = grid(space)
    (rule,) = rules_of(space, [0, 0, 5 + 9e-7], Z, Z[:, 2] < 5 + 4.5e-7)
    assert rule.values - 5 == pytest.approx([4.5e-7], rel=1e-3)
    assert rule.directions.tolist() == [-1]


def test_a_category_is_put_in_whichever_way_the_tree_asks_for_it(space: FeatureSpace) -> None:
    Z = grid(space)
    (wanted,) = rules_of(space, [0, 0, 5], Z, Z[:, 1] == 2)
    assert (wanted.features.tolist(), wanted.values.tolist(), wanted.directions.tolist()) == ([1], [2], [0])
    # All but category 3 will do: the neighbours in the leaf are mostly of category 1 here.
    mostly_b = np.concatenate([Z[Z[:, 1] != 0], Z[Z[:, 1] == 1]])
    (other,) = rules_of(space, [0, 3, 5], mostly_b, mostly_b[:, 1] != 3)
    assert (other.features.tolist(), other.values.tolist(), other.n_conditions) == ([1], [1], 1)


def test_only_violated_conditions_change_x_and_all_conditions_count(space: FeatureSpace) -> None:
    Z = grid(space)
    target_rows = (Z[:, 0] > 6.5e5) & (Z[:, 0] < 8.5e5) & (Z[:, 1] == 2)
    rules = rules_of(space, [7e5, 0, 5], Z, target_rows)
    assert [(rule.features.tolist(), rule.n_conditions) for rule in rules] == [([1], 3)]


def test_a_rule_that_x_keeps_is_none(space: FeatureSpace) -> None:
    Z = grid(space)
    assert rules_of(space, [9e5, 0, 5], Z, Z[:, 0] > 6.5e5) == []
    assert rules_of(space, [9e5, 0, 5], Z, Z[:, 0] > 1e6) == []


def test_the_factual_rule_is_the_path_that_x_takes(space: FeatureSpace) -> None:
    Z = grid(space)
    inside = (Z[:, 0] > 2.5e5) & (Z[:, 0] < 6.5e5)
    x = np.array([3e5, 0, 5.0])
    rule = factual_rule(space, x, Z, inside.astype(np.int64), seed=0)
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


def test_the_factual_rule_is_of_any_class_and_has_numerical_conditions_alone(space: FeatureSpace) -> None:
    Z = grid(space)
    classes = np.where(Z[:, 1] == 2, 2, np.where(Z[:, 0] > 6.5e5, 1, 0))
    rules = {x: factual_rule(space, np.array(x), Z, classes, seed=0) for x in [(0.0, 0, 5.0), (9e5, 0, 5.0)]}
    low, high = rules.values()
    assert low is not None
    assert high is not None
    assert (low.features.tolist(), low.lower.tolist()) == ([0], [-np.inf])
    assert (high.features.tolist(), high.upper.tolist()) == ([0], [np.inf])
    assert low.upper == pytest.approx([6.5e5])
    assert high.lower == pytest.approx([6.5e5])
    assert factual_rule(space, np.array([0.0, 2, 5.0]), Z, (Z[:, 1] == 2).astype(np.int64), seed=0) is None
