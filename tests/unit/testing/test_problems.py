"""The generated problems are what they say, by numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, Kind
from cfbench.testing import problems
from cfbench.testing.problems import Case, ScoreClassifier

ALL = (*problems.SOLVABLE, problems.with_move_cost(0), problems.with_move_cost(1))
IMPOSSIBLE = (
    problems.without_target(problems.MIXED),
    problems.without_target(problems.NUMERICAL),
    problems.with_all_fixed(problems.MIXED),
    problems.with_all_fixed(problems.NUMERICAL),
)
each = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
each_impossible = pytest.mark.parametrize("case", IMPOSSIBLE, ids=lambda case: case.name)


def box(case: Case) -> tuple[FloatArray, FloatArray]:
    """Return the bounds that the case's constraints leave."""
    return case.space.feasible_bounds(np.array(case.x)) if case.constraints else (case.space.lower, case.space.upper)


@each
def test_chance_finds_a_counterfactual_and_x_is_feasible_but_not_one(case: Case) -> None:
    lower, upper = box(case)
    Z = np.random.default_rng(1).uniform(lower, upper, (4000, case.space.d))
    Z[:, case.space.is_categorical] = np.round(Z[:, case.space.is_categorical])
    share = float(np.mean(case.rule.predict(Z) == case.target))
    assert share > (0.05 if case.constraints else 0.25)
    x = np.array([case.x], dtype=np.float64)
    assert case.rule.predict(x)[0] != case.target
    assert case.space.is_feasible(x, x[0], constraints=True, respect_steps=True)[0]


@each_impossible
def test_no_answer_is_left_where_none_is_meant_to_be(case: Case) -> None:
    corners = np.array(np.meshgrid(*zip(*box(case), strict=True))).reshape(case.space.d, -1).T
    assert not np.any(case.rule.predict(corners) == case.target)


def test_some_training_rows_have_a_target_that_the_model_never_predicts() -> None:
    case = problems.without_target(problems.MIXED)
    training = case.training()
    assert training.y[:5].tolist() == [1] * 5
    assert not np.any(case.rule.predict(training.X) == 1)


@each
def test_training_rows_lie_in_the_space_and_carry_the_rules_labels(case: Case) -> None:
    training = case.training()
    assert not training.X.flags.writeable
    inside = case.space.is_feasible(training.X, training.X[0], constraints=False, respect_steps=True)
    assert inside.all()
    assert training.y.tolist() == case.rule.predict(training.X).tolist()
    for i, value in case.constant.items():
        assert set(training.X[:, i]) == {value}


def test_names_are_unique() -> None:
    names = [case.name for case in (*ALL, *IMPOSSIBLE, problems.with_budget(problems.MIXED, 5))]
    assert len(set(names)) == len(names)


def small_rule(*cuts: float) -> ScoreClassifier:
    space = FeatureSpace(
        (FeatureSpec("size", Kind.NUMERICAL, 10, 20), FeatureSpec("colour", Kind.CATEGORICAL, 0, 1, ("red", "blue")))
    )
    return ScoreClassifier(space, (2.0, (0.0, 0.5)), cuts)


def test_a_rule_by_hand() -> None:
    Z = np.array([[10.0, 0.0], [15.0, 0.0], [15.0, 1.0], [20.0, 1.0]])
    assert small_rule(1.0).score(Z).tolist() == [0.0, 1.0, 1.5, 2.5]
    assert small_rule(1.0).predict(Z).tolist() == [0, 0, 1, 1]
    assert small_rule(0.5, 2.0).predict(Z).tolist() == [0, 1, 1, 2]
    assert small_rule(0.5, 2.0).predict_proba(Z)[0].tolist() == pytest.approx([0.9, 0.05, 0.05])
    assert small_rule(1.0).fingerprint() != small_rule(1.5).fingerprint()


def test_a_constrained_problem_forbids_its_cheapest_counterfactuals() -> None:
    case = problems.CONSTRAINED_MIXED
    cheap = np.array([[10.0, *case.x[1:]]])
    assert case.rule.predict(cheap)[0] == case.target
    assert case.space.is_feasible(cheap, np.array(case.x), constraints=False)[0]
    assert not case.space.is_feasible(cheap, np.array(case.x), constraints=True)[0]


@pytest.mark.parametrize("case", [problems.RELATED_MIXED, problems.RELATED_NUMERICAL], ids=lambda case: case.name)
def test_relations_exclude_nine_tenths_of_the_rows_and_leave_an_answer(case: Case) -> None:
    x = np.array([case.x], dtype=np.float64)
    assert case.rule.predict(x)[0] != case.target
    lower, upper = box(case)
    Z = np.random.default_rng(1).uniform(lower, upper, (20_000, case.space.d))
    Z[:, case.space.is_categorical] = np.round(Z[:, case.space.is_categorical])
    kept = case.space.is_feasible(Z, x[0], constraints=True)
    assert 0.05 < kept.mean() < 0.11
    answers = kept & (case.rule.predict(Z) == case.target)
    assert answers.any()
    known = case.space.is_feasible(np.array(case.rows), x[0], constraints=True)
    assert known.all()
    assert (case.rule.predict(np.array(case.rows)) == case.target).all()
    # No single change is enough.
    assert (Z[answers] != x).sum(axis=1).min() > 1
    for i in range(case.space.d):
        single = np.tile(x, (len(Z), 1))
        single[:, i] = Z[:, i]
        found = case.space.is_feasible(single, x[0], constraints=True) & (case.rule.predict(single) == case.target)
        assert not found.any()
