from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cfbench.problem.outcome import CounterfactualSet, Status
from cfbench.running.judge import Judge
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 20, constraint=Constraint.ONLY_UP),
        FeatureSpec("age", Kind.NUMERICAL, 18, 98, step=1),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue")),
    )
)
X = np.array([8.0, 30.0, 1.0])


class Rule:
    """Class 1 where size > 10."""

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] > 10).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        raise AssertionError("the judge asks for classes")


def judge(**changes: Any) -> Judge:
    settings: dict[str, Any] = {
        "x": X,
        "target": 1,
        "space": SPACE,
        "oracle": Rule(),
        "constraints": False,
        "respect_steps": False,
    }
    return Judge(**{**settings, **changes})


def test_a_valid_answer_is_found_with_its_loss_and_parts() -> None:
    verdict = judge().verdict(np.array([12.0, 30.0, 2.0]), returns_sets=False)
    assert verdict.status is Status.FOUND
    # gamma = (4/20 + 0 + 1) / 3 = 0.4; two of three features changed
    assert verdict.gower == pytest.approx(0.4, abs=1e-15)
    assert verdict.l0 == 2
    assert verdict.cost == verdict.loss == verdict.objective_value == pytest.approx(0.2 + 1 / 3, abs=1e-15)


def test_integers_are_numbers() -> None:
    assert judge().verdict(np.array([12, 30, 1]), returns_sets=False).status is Status.FOUND


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([12.0, 30.0, 1.0], "a list, not a numpy array of shape (3,)"),
        ("12, 30, 1", "a str, not"),
        (np.array([[12.0, 30.0, 1.0]]), "CounterfactualSet(Z)"),
        (np.array([12.0, 30.0]), "shape (2,), not (3,)"),
        (np.array(["12", "30", "1"]), "not of numbers"),
        (np.array([True, True, True]), "not of numbers"),
        (np.array([12.0, 30.0, 1.0], dtype=object), "not of numbers"),
        (CounterfactualSet(np.array([[12.0, 30.0, 1.0]])), "returns_sets=True"),
        (np.array([np.nan, 30.0, 1.0]), "size = nan is not finite"),
        (np.array([np.inf, 30.0, 1.0]), "size = inf is not finite"),
        (np.array([20.5, 30.0, 1.0]), "size = 20.5 is outside [0, 20]"),
        (np.array([12.0, 30.0, 0.5]), "colour = 0.5 is no category code"),
        (np.array([12.0, 30.0, 3.0]), "colour = 3.0 is outside [0, 2]"),
        (np.array([9.0, 30.0, 1.0]), "its class is 0, not the target 1"),
        (X, "x itself"),
    ],
)
def test_a_wrong_answer_is_invalid_and_the_reason_says_why(answer: object, words: str) -> None:
    verdict = judge().verdict(answer, returns_sets=False)
    assert verdict.status is Status.INVALID
    assert words in verdict.reason
    assert verdict.loss is None


def test_frames_are_no_answers() -> None:
    import pandas as pd

    verdict = judge().verdict(pd.DataFrame([[12.0, 30.0, 1.0]]), returns_sets=False)
    assert verdict.status is Status.INVALID
    assert "DataFrame" in verdict.reason


def test_constraints_and_steps_count_where_the_cell_says_so() -> None:
    rule = Rule()
    shrunk = np.array([7.0, 30.0, 1.0])
    low = judge(oracle=_Always(1))
    assert low.verdict(shrunk, returns_sets=False).status is Status.FOUND
    verdict = judge(oracle=_Always(1), constraints=True).verdict(shrunk, returns_sets=False)
    assert "breaks the constraint '>='" in verdict.reason
    off_grid = np.array([12.0, 30.5, 1.0])
    assert judge(oracle=rule).verdict(off_grid, returns_sets=False).status is Status.FOUND
    assert "off the multiples" in judge(respect_steps=True).verdict(off_grid, returns_sets=False).reason


def test_of_a_set_the_valid_row_with_the_smallest_objective_value_counts() -> None:
    Z = np.array([[99.0, 30, 1], [15.0, 30, 1], [11.0, 30, 1], [9.0, 30, 1]])
    verdict = judge().verdict(CounterfactualSet(Z), returns_sets=True)
    assert verdict.z is not None
    assert verdict.z.tolist() == [11.0, 30.0, 1.0]
    assert verdict.candidates is not None
    assert verdict.candidates.shape == (4, 3)


def test_the_objectives_term_ranks_a_set_and_stays_out_of_the_loss() -> None:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        assert (classes == 1).all()
        return np.where(Z[:, 0] < 12, 0.5, 0.0)

    Z = np.array([[11.0, 30, 1], [15.0, 30, 1]])
    verdict = judge(term=term).verdict(CounterfactualSet(Z), returns_sets=True)
    assert verdict.z is not None
    assert verdict.z[0] == 15.0
    assert verdict.loss == verdict.objective_value

    alone = judge(term=term).verdict(CounterfactualSet(Z[:1]), returns_sets=True)
    assert alone.loss is not None
    assert alone.objective_value == alone.loss + 0.5


def test_nothing_is_not_found() -> None:
    assert judge().verdict(None, returns_sets=False).status is Status.NOT_FOUND
    empty = judge().verdict(CounterfactualSet(np.empty((0, 3))), returns_sets=True)
    assert (empty.status, empty.reason) == (Status.NOT_FOUND, "the returned set is empty")


class _Always(Rule):
    def __init__(self, answer: int) -> None:
        self.answer = answer

    def predict(self, Z: FloatArray) -> IntArray:
        return np.full(len(Z), self.answer)
