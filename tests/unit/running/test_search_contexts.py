"""What an objective is given in a search and by the judge: streams, draws, and who pays for its questions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cfbench.problem.access import TrainingFold
from cfbench.problem.oracle import Oracle
from cfbench.problem.problem import Problem, Term
from cfbench.registry.contracts import Objective, ObjectiveContext
from cfbench.registry.entries import SearcherEntry
from cfbench.registry.events import CellInfo
from cfbench.robustness.neighbours import KNeighbours
from cfbench.running.search import FittedFold, SearchTask, run_search
from cfbench.space.dataset import Dataset, Fold
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind, NumericalPerturbation
from cfbench.study.plan import Cell
from cfbench.study.variants import Variant

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10),
        FeatureSpec("age", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(1, 1)),
    )
)
X = np.array([[2.0, 5.0]])
SEEN: list[ObjectiveContext] = []


class Model:
    """Class 1 where size > 5 and age <= 5.5."""

    def predict(self, Z: FloatArray) -> IntArray:
        found: IntArray = ((Z[:, 0] > 5) & (Z[:, 1] <= 5.5)).astype(np.int64)
        return found

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self) -> str:
        return "model"

    def oracle(self) -> Oracle:
        return self


class Shaken(Objective):
    """Half the share of 4 (the judge: 100) neighbours with another class."""

    def bind(self, context: ObjectiveContext) -> Term:
        SEEN.append(context)
        m = 100 if context.judging else 4
        neighbours = KNeighbours(context.space, context.x, context.stream, m)

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            lost: FloatArray = 0.5 * (context.predict_neighbours(Z, neighbours) != classes[:, np.newaxis]).mean(axis=1)
            return lost

        return term

    def rows_per_candidate(self) -> int:
        return 4


def up(problem: Problem, rng: np.random.Generator) -> FloatArray:
    z = problem.x.copy()
    z[0] = 6.0
    problem.loss(z[np.newaxis])
    problem.report("evaluations-left", float(problem.evaluations_left or 0))
    return z


def search(
    searcher: str = "up",
    repetition: int = 0,
    *,
    function: Callable[[Problem, np.random.Generator], FloatArray | None] = up,
    objective: Objective = Shaken(),  # noqa: B008 - settings are frozen
    query_budget: int = 24,
) -> dict[str, object]:
    dataset = Dataset("tiny", X, np.array([0]), SPACE, target=1, class_labels=("n", "y"))
    nobody = np.array([], dtype=np.int64)
    fitted_fold = FittedFold(dataset, Fold(nobody, nobody), Model(), Model(), "model", TrainingFold(X, dataset.y))
    model, shaken = Variant("model", {}, "model"), Variant("shaken", {}, "shaken")
    cell = Cell(
        info=CellInfo("", "tiny", "model", searcher, "shaken", False, 0),
        dataset="tiny",
        model=model,
        searcher=Variant(searcher, {}, searcher),
        objective=shaken,
        constraints=False,
        fold=0,
        query_budget=query_budget,
        time_limit=None,
        respect_steps=False,
        seed=42,
        content={"dataset": {"name": "tiny"}, "model": {"name": "model"}},
        points=1,
        repetitions=1,
        searches=1,
    )
    SEEN.clear()
    entry = SearcherEntry(name="up", searcher=function)
    return run_search(SearchTask(cell, 0, 0, repetition), fitted_fold, entry, entry.function, objective)


def test_the_judge_is_told_that_it_judges_and_its_questions_are_nobodys() -> None:
    row = search()
    own, judge = SEEN
    assert (own.judging, judge.judging) == (False, True)
    assert own.stream != judge.stream
    assert (row["search_queries"], row["robustness_queries"]) == (1, 4)
    assert row["figures"] == {"evaluations-left": 3.0}  # 19 rows are left, 5 a candidate


def test_all_searchers_and_repetitions_are_judged_by_the_same_draws() -> None:
    streams, values = set(), set()
    for searcher, repetition in (("up", 0), ("up", 1), ("other", 0)):
        values.add(search(searcher, repetition)["objective_value"])
        own, judge = SEEN
        streams.add((own.stream, judge.stream))
    assert len(values) == 1
    assert len({own for own, _ in streams}) == 3
    assert len({judge for _, judge in streams}) == 1


class Drawn(Objective):
    """Random numbers from 0 to 3, in the order of the evaluations; the judge's are all 0."""

    def bind(self, context: ObjectiveContext) -> Term:
        SEEN.append(context)
        draws = np.random.default_rng(context.stream)

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            return np.zeros(len(Z)) if context.judging else 3 * draws.random(len(Z))

        return term


class DrawnOnce(Drawn):
    """The same, said to have no draws."""

    def draws_per_candidate(self) -> int:
        return 0


ROWS = np.column_stack([np.linspace(5.1, 9.9, 40), np.full(40, 5.0)])


def to_the_end(problem: Problem, rng: np.random.Generator) -> FloatArray | None:
    for row in ROWS:
        problem.evaluate(row[np.newaxis])
    return None


def cost(row: FloatArray) -> float:
    """Size alone changes, of two features with ranges of 10."""
    return float(0.5 * (row[0] - 2) / 10 / 2 + 0.5 / 2)


def test_where_a_budget_is_used_up_the_ten_best_are_evaluated_again_and_nothing_is_counted() -> None:
    row = search(function=to_the_end, objective=Drawn(), query_budget=30)
    own, judge, choice = SEEN
    assert len({own.stream, judge.stream, choice.stream}) == 3
    assert not choice.judging
    costs = [cost(candidate) for candidate in ROWS]
    first = costs[:30] + 3 * np.random.default_rng(own.stream).random(30)
    ten = np.argsort(first)[:10]
    fresh = 3 * np.random.default_rng(choice.stream).random(160).reshape(10, 16)
    best = ten[np.argmin([costs[i] + draws.mean() for i, draws in zip(ten, fresh, strict=True)])]
    assert best != ten[0]
    assert row["status"] == "budget_exhausted"
    assert row["z"] == ROWS[best].tolist()
    assert row["objective_value"] == pytest.approx(costs[best])
    assert (row["search_queries"], row["robustness_queries"]) == (30, 0)


def test_where_a_budget_is_used_up_without_draws_the_smallest_value_decides() -> None:
    row = search(function=to_the_end, objective=DrawnOnce(), query_budget=30)
    own, _ = SEEN
    first = [cost(candidate) for candidate in ROWS[:30]] + 3 * np.random.default_rng(own.stream).random(30)
    assert row["z"] == ROWS[int(np.argmin(first))].tolist()


def test_every_search_has_draws_of_its_own_for_the_choice() -> None:
    streams = set()
    for searcher, repetition in (("up", 0), ("up", 1), ("other", 0)):
        search(searcher, repetition, function=to_the_end, objective=Drawn(), query_budget=30)
        streams.add(SEEN[2].stream)
    assert len(streams) == 3
