"""What an objective is given in a search and by the judge: streams, draws, and who pays for its questions."""

from __future__ import annotations

import numpy as np

from cfbench.contracts import Objective, ObjectiveContext
from cfbench.dataset import Dataset
from cfbench.entries import SearcherEntry
from cfbench.events import CellInfo
from cfbench.harness.folds import Fold
from cfbench.harness.plan import Cell
from cfbench.harness.search import Ground, SearchTask, run_search
from cfbench.harness.variants import Variant
from cfbench.oracle import Oracle
from cfbench.perturbations import KNeighbours
from cfbench.problem import Problem, Term, TrainingFold
from cfbench.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind, NumericalPerturbation

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


def search(searcher: str = "up", repetition: int = 0) -> dict[str, object]:
    dataset = Dataset("tiny", X, np.array([0]), SPACE, target=1, class_labels=("n", "y"))
    nobody = np.array([], dtype=np.int64)
    ground = Ground(dataset, Fold(nobody, nobody), Model(), Model(), "model", TrainingFold(X, dataset.y))
    model, objective = Variant("model", {}, "model"), Variant("shaken", {}, "shaken")
    cell = Cell(
        info=CellInfo("", "tiny", "model", searcher, "shaken", False, 0),
        dataset="tiny",
        model=model,
        searcher=Variant(searcher, {}, searcher),
        objective=objective,
        constraints=False,
        fold=0,
        query_budget=24,
        time_limit=None,
        respect_steps=False,
        seed=42,
        content={},
        points=1,
        repetitions=1,
        searches=1,
    )
    SEEN.clear()
    return run_search(SearchTask(cell, 0, 0, repetition), ground, SearcherEntry(name="up", searcher=up), None, Shaken())


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
