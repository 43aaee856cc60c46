"""An objective that raises or returns no numbers: its cell fails and names it, whatever the searcher makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfbench import (
    BudgetExhausted,
    Handles,
    Objective,
    ObjectiveContext,
    ObjectiveEntry,
    Problem,
    SearcherEntry,
    hookimpl,
    load_record,
)
from cfbench.problem import SeparableTerm
from cfbench.running.terms import bound_term
from cfbench.space import FloatArray, IntArray
from tests.toys.runs import Toys


def good(Z: FloatArray, classes: IntArray) -> FloatArray:
    return np.full(len(Z), 0.125)


def raises(Z: FloatArray, classes: IntArray) -> FloatArray:
    raise ValueError("no draws left")


TERMS: dict[str, Any] = {
    "good": good,
    "raises": raises,
    "returns None": lambda Z, classes: None,
    "returns NaN": lambda Z, classes: np.full(len(Z), np.nan),
    "returns a column": lambda Z, classes: np.zeros((len(Z), 1)),
    "returns text": lambda Z, classes: np.array(["0"] * len(Z)),
    "is a number": 0.5,
}


class Made(Objective):
    """Binds one of the terms above."""

    term: str = "good"
    only_when_judging: bool = False
    rows: Any = 0
    draws: Any = 0

    def bind(self, context: ObjectiveContext) -> Any:
        if self.term == "cannot bind":
            raise KeyError("bounds")
        return good if self.only_when_judging and not context.judging else TERMS[self.term]

    def rows_per_candidate(self) -> int:
        return self.rows  # type: ignore[no-any-return]

    def draws_per_candidate(self) -> int | None:
        return self.draws  # type: ignore[no-any-return]


def step(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = 12.0
    problem.loss(z[np.newaxis])
    return z


def hides(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    try:
        return step(problem, rng)
    except Exception:
        return None


class Plugin:
    @hookimpl
    def cfbench_register_objectives(self) -> list[ObjectiveEntry]:
        return [ObjectiveEntry(name="made", objective=Made)]

    @hookimpl
    def cfbench_register_searchers(self) -> list[SearcherEntry]:
        return [SearcherEntry(name=one.__name__, searcher=one, handles=list(Handles)) for one in (step, hides)]


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ('made[term="raises"]', "its term raised ValueError: no draws left (test_terms.py:"),
        ('made[term="returns None"]', "its term returned None; it must return finite numbers, an array of shape (1,)"),
        ('made[term="returns NaN"]', "its term returned nan; it must return finite numbers"),
        ('made[term="returns a column"]', "its term returned float64 of shape (1, 1); it must return finite"),
        ('made[term="returns text"]', "its term returned <U1 of shape (1,); it must return finite"),
        ('made[term="is a number"]', "bind returned a float; it must return a function"),
        ('made[term="cannot bind"]', "bind raised KeyError: 'bounds' (test_terms.py:"),
        ('made[term="raises",only_when_judging=true]', "its term raised ValueError: no draws left"),
        ("made[rows=-1]", "rows_per_candidate returned -1; it must return a whole number >= 0"),
        ('made[draws="some"]', "draws_per_candidate returned 'some'; it must return a whole number >= 0"),
    ],
)
def test_the_cell_fails_and_names_the_objective(tmp_path: Path, objective: str, words: str) -> None:
    toys = Toys(tmp_path / "cache", objects=(Plugin(),), folds=(0,), repetitions=1)
    report = toys.run(tmp_path / "results", searchers=("step", "hides"), objectives=(objective,))
    assert (report.cells_failed, report.cells_done) == (2, 0)
    assert all("objective 'made[" in failure and f"]': {words}" in failure for failure in report.failures)
    assert len(load_record(tmp_path / "results")) == 0


def test_a_sound_term_changes_nothing(tmp_path: Path) -> None:
    toys = Toys(tmp_path / "cache", objects=(Plugin(),), folds=(0,), repetitions=1)
    toys.run(tmp_path / "results", searchers=("step", "hides"), objectives=("made",))
    frame = load_record(tmp_path / "results")
    assert set(frame["status"]) == {"found"}
    assert frame["objective_value"].tolist() == (frame["loss"] + 0.125).tolist()


class Sum:
    """A term that is a sum over the features."""

    breaks = (np.array([1.0]),)

    def __init__(self, width: int) -> None:
        self.width = width

    def parts(self, Z: FloatArray) -> FloatArray:
        return np.zeros((len(Z), self.width))

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        total: FloatArray = self.parts(Z).sum(axis=1)
        return total


class OfSums(Made):
    width: int = 1

    def bind(self, context: ObjectiveContext) -> Any:
        return Sum(self.width)


def test_a_sum_over_the_features_stays_one_and_its_parts_are_checked() -> None:
    context: Any = None
    Z = np.zeros((3, 1))
    term: Any = bound_term(OfSums(), "sums", context)
    assert isinstance(term, SeparableTerm)
    assert term.parts(Z).shape == (3, 1)
    assert [one.tolist() for one in term.breaks] == [[1.0]]
    wrong: Any = bound_term(OfSums(width=2), "sums", context)
    with pytest.raises(Exception, match=r"objective 'sums': parts returned float64 of shape \(3, 2\); it must return"):
        wrong.parts(Z)


def test_an_exhausted_budget_is_no_fault() -> None:
    class Spends(Made):
        def bind(self, context: ObjectiveContext) -> Any:
            def term(Z: FloatArray, classes: IntArray) -> FloatArray:
                raise BudgetExhausted("3 more would exceed it")

            return term

    term = bound_term(Spends(), "spends", None)  # type: ignore[arg-type] # it needs no context
    assert term is not None
    with pytest.raises(BudgetExhausted):
        term(np.zeros((1, 1)), np.zeros(1, dtype=np.int64))
    assert term.fault is None
