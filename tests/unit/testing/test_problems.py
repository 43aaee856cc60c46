"""The generated problems are what they say: by the judge, and by numbers worked out by hand."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cfbench.problem.outcome import Status
from cfbench.running.judge import Judge
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, Kind
from cfbench.testing import problems
from cfbench.testing.problems import Case, Counted, ScoreClassifier
from cfbench.testing.searcher_bench import cost_of

ALL = (*problems.SOLVABLE, problems.with_move_cost(0), problems.with_move_cost(1))
IMPOSSIBLE = (
    problems.without_target(problems.MIXED),
    problems.without_target(problems.NUMERICAL),
    problems.with_all_fixed(problems.MIXED),
    problems.with_all_fixed(problems.NUMERICAL),
)
each = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
each_impossible = pytest.mark.parametrize("case", IMPOSSIBLE, ids=lambda case: case.name)


def judge_of(case: Case) -> Judge:
    return Judge(
        x=np.array(case.x, dtype=np.float64),
        target=case.target,
        space=case.space,
        oracle=case.asked.oracle(),
        constraints=case.constraints,
        respect_steps=case.respect_steps,
    )


@each
def test_the_known_answer_is_a_counterfactual_and_x_is_none(case: Case) -> None:
    assert case.answer is not None
    verdict = judge_of(case).verdict(np.array(case.answer, dtype=np.float64), returns_sets=False)
    assert verdict.status is Status.FOUND, verdict.reason
    assert verdict.loss == pytest.approx(cost_of(np.array(case.answer, dtype=np.float64), case), rel=1e-12)
    x = np.array([case.x], dtype=np.float64)
    assert case.rule.predict(x)[0] != case.target
    assert case.space.is_feasible(x, x[0], constraints=True, respect_steps=True)[0]


@each
def test_chance_finds_an_answer_where_no_constraint_holds(case: Case) -> None:
    lower, upper = case.space.lower, case.space.upper
    Z = np.random.default_rng(1).uniform(lower, upper, (4000, case.space.d))
    Z[:, case.space.is_categorical] = np.round(Z[:, case.space.is_categorical])
    share = float(np.mean(case.rule.predict(Z) == case.target))
    assert share > (0.2 if case.constraints else 0.25)


@each_impossible
def test_no_answer_is_left_where_none_is_meant_to_be(case: Case) -> None:
    assert case.answer is None
    lower, upper = (
        case.space.feasible_bounds(np.array(case.x)) if case.constraints else (case.space.lower, case.space.upper)
    )
    corners = np.array(np.meshgrid(*zip(lower, upper, strict=True))).reshape(case.space.d, -1).T
    assert not np.any(case.rule.predict(corners) == case.target)


@pytest.mark.parametrize("case", IMPOSSIBLE[:2], ids=lambda case: case.name)
def test_the_data_speak_of_a_target_that_the_model_never_says(case: Case) -> None:
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


@each
def test_a_case_travels_to_another_process(case: Case) -> None:
    other = pickle.loads(pickle.dumps(case))
    assert other.rule.fingerprint() == case.rule.fingerprint()
    assert other.training().X.tobytes() == case.training().X.tobytes()


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


def test_an_oracle_counts_whoever_asks() -> None:
    counted = Counted(small_rule(1.0))
    counted.predict(np.array([[10.0, 0.0], [20.0, 0.0]]))
    counted.predict_proba(np.array([[10.0, 0.0]]))
    assert counted.rows == 3
    with pytest.raises(KeyboardInterrupt):
        Counted(small_rule(1.0), interrupt=True).predict(np.array([[10.0, 0.0]]))


def test_costs_by_hand() -> None:
    case = Case("small", small_rule(1.0), (12.0, 0.0))
    # 1/2 (0.5 + 1) / 2 + 1/2 * 2 / 2: a half of the interval, another category.
    assert cost_of(np.array([17.0, 1.0]), case) == pytest.approx(0.375 + 0.5)
    assert cost_of(np.array([12.0, 0.0]), case) == 0.0


def test_a_constrained_problem_bars_its_cheapest_answers() -> None:
    case = problems.CONSTRAINED_MIXED
    assert [feature.constraint for feature in case.space.features[:4]] == [
        Constraint.ONLY_DOWN,
        Constraint.ONLY_UP,
        Constraint.FIXED,
        Constraint.FIXED,
    ]
    cheap = np.array([10.0, *case.x[1:]])
    free: dict[str, Any] = {"constraints": False}
    assert judge_of(replace(case, **free)).verdict(cheap, returns_sets=False).status is Status.FOUND
    assert judge_of(case).verdict(cheap, returns_sets=False).status is Status.INVALID
