"""What a searcher sees, on a model in closed form: class 1 exactly where the first feature is above 5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfbench.errors import BudgetExhausted, CfbenchError, ModelError, NotDeclaredError
from cfbench.problem.access import Need, TrainingFold
from cfbench.problem.oracle import Meter
from cfbench.problem.problem import Problem, SearchBudget, trace_of
from cfbench.space.space import Constraint, FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 10, step=1),
        FeatureSpec("age", Kind.NUMERICAL, 0, 100, constraint=Constraint.ONLY_UP),
    )
)
X = np.array([2.0, 50.0])


class Threshold:
    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] > 5).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        above = Z[:, 0] / 10
        return np.stack([1 - above, above], axis=1)


class Meddler(Threshold):
    """Writes into whatever it is asked."""

    def predict(self, Z: FloatArray) -> IntArray:
        classes = super().predict(Z)
        Z[:] = -1
        return classes


def make(max_queries: int | None = None, oracle: Any = None, **changes: Any) -> Problem:
    meter = Meter(oracle or Threshold(), d=2, max_queries=max_queries)
    return Problem(X, 1, SPACE, meter, budget=SearchBudget(max_queries), **changes)


def size(value: float) -> FloatArray:
    return np.array([[value, 50.0]])


def test_a_searcher_sees_its_task() -> None:
    problem = make(max_queries=7, constraints=True, respect_steps=True)
    assert (problem.target, problem.space, problem.constraints, problem.respect_steps) == (1, SPACE, True, True)
    assert problem.budget == SearchBudget(7)
    assert problem.queries_left == 7
    problem.predict(np.zeros((3, 2)))
    assert problem.queries_left == 4
    assert make().queries_left is None


def test_x_is_a_read_only_copy() -> None:
    x = X.copy()
    problem = Problem(x, 1, SPACE, Meter(Threshold(), d=2))
    x[0] = 99
    np.testing.assert_array_equal(problem.x, X)
    with pytest.raises(ValueError, match="read-only"):
        problem.x[0] = 1
    with pytest.raises(AttributeError):
        problem.x = X  # type: ignore[misc]


def test_bounds_narrow_with_the_constraints() -> None:
    np.testing.assert_array_equal(make().bounds(), [[0, 0], [10, 100]])
    np.testing.assert_array_equal(make(constraints=True).bounds(), [[0, 50], [10, 100]])


def test_loss_is_cost_plus_one_outside_the_target() -> None:
    problem = make()
    Z = np.array([[2.0, 50], [7, 50], [7, 75]])
    # Ranges 10 and 100: gower of (7, 50) is 5/10/2 = 0.25, of (7, 75) 0.25 + 25/100/2 = 0.375.
    np.testing.assert_allclose(problem.distance(Z), [0, 0.5 * 0.25 + 0.25, 0.5 * 0.375 + 0.5])
    assert problem.queries_left is None
    np.testing.assert_allclose(problem.loss(Z), [1, 0.375, 0.6875])
    values, classes = problem.evaluate(Z)
    np.testing.assert_allclose(values, [1, 0.375, 0.6875])
    np.testing.assert_array_equal(classes, [0, 1, 1])


def test_an_objectives_term_is_added_to_the_loss_and_asks_at_its_own_expense() -> None:
    meter = Meter(Threshold(), d=2)

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        meter.predict_for_objective(np.repeat(Z, 3, axis=0))
        return np.where(classes == 1, Z[:, 0] / 100, 0)

    problem = Problem(X, 1, SPACE, meter, term=term)
    np.testing.assert_allclose(problem.loss(np.array([[2.0, 50], [7, 50]])), [1, 0.375 + 0.07])
    assert (meter.search_queries, meter.robustness_queries) == (2, 6)


@pytest.mark.parametrize("ask", ["predict", "loss", "evaluate", "predict_proba"])
def test_questions_are_neither_changed_nor_kept(ask: str) -> None:
    problem = make(oracle=Meddler(), needs=[Need.PROBABILITIES])
    Z = np.array([[7.0, 50]])
    before = Z.copy()
    getattr(problem, ask)(Z)
    np.testing.assert_array_equal(Z, before)
    Z[:] = 3
    best = trace_of(problem).best_asked
    assert best is None or best[0] != 3


def test_whole_numbers_and_lists_may_be_asked() -> None:
    problem = make()
    np.testing.assert_array_equal(problem.predict([[7, 50], [2, 50]]), [1, 0])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"a float64 array of shape \(n, 2\)"):
        problem.predict(X)


def test_the_anytime_list_grows_whenever_the_best_feasible_target_row_improves() -> None:
    problem = make(constraints=True)
    problem.predict(size(2))  # row 1: not of the target class
    problem.predict(np.array([[9.0, 50], [8, 50], [8.5, 50]]))  # rows 2 to 4: costs 0.425, 0.4, 0.4125
    problem.loss(size(10))  # row 5: costs more
    problem.predict(np.array([[6.0, 40]]))  # row 6: breaks the constraint on age
    problem.loss(np.array([[2.0, 50], [6, 50]]))  # rows 7 and 8; 8 costs 0.35
    trace = trace_of(problem)
    assert [queries for queries, _ in trace.anytime] == [2, 3, 8]
    np.testing.assert_allclose([loss for _, loss in trace.anytime], [0.425, 0.4, 0.35])
    assert trace.best_asked is not None
    np.testing.assert_array_equal(trace.best_asked, [6, 50])


def test_a_row_whose_highest_probability_is_the_targets_alone_is_noted_too() -> None:
    class Undecided(Threshold):
        def predict_proba(self, Z: FloatArray) -> FloatArray:
            share = Z[:, 0] / 12  # a half where the first feature is 6: a tie, which says nothing of the class
            return np.column_stack([1 - share, share])

    problem = make(oracle=Undecided(), constraints=True, needs=[Need.PROBABILITIES])
    problem.predict_proba(np.array([[2.0, 50], [6, 50], [9, 40], [8, 50], [7.5, 50]]))  # row 3 breaks a constraint
    trace = trace_of(problem)
    assert [queries for queries, _ in trace.anytime] == [4, 5]
    assert trace.best_asked is not None
    np.testing.assert_array_equal(trace.best_asked, [7.5, 50])
    problem.predict_proba(np.empty((0, 2)))


def test_steps_count_in_the_anytime_list_only_where_they_must_be_kept() -> None:
    for respect_steps, best in [(False, 5.5), (True, 6.0)]:
        problem = make(respect_steps=respect_steps)
        problem.predict(np.array([[6.0, 50], [5.5, 50]]))
        best_asked = trace_of(problem).best_asked
        assert best_asked is not None
        assert best_asked[0] == best


def test_the_best_asked_follows_the_objective_the_anytime_list_the_base_loss() -> None:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        return np.where(Z[:, 0] < 7, 1.0, 0.0)

    problem = make(term=term)
    problem.loss(np.array([[8.0, 50], [6, 50]]))
    trace = trace_of(problem)
    assert trace.best_asked is not None
    np.testing.assert_array_equal(trace.best_asked, [8, 50])
    assert [queries for queries, _ in trace.anytime] == [1, 2]


def test_a_cost_and_an_objective_value_are_never_ranked_together() -> None:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        return np.full(len(Z), 0.5)

    problem = make(term=term)
    problem.predict(np.array([[6.0, 50]]))  # cheaper than any value with the term, but its value was never asked
    np.testing.assert_array_equal(trace_of(problem).best_asked, [6, 50])
    problem.loss(np.array([[8.0, 50]]))
    np.testing.assert_array_equal(trace_of(problem).best_asked, [8, 50])


def test_rows_asked_before_an_objective_passed_the_budget_are_remembered() -> None:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        raise BudgetExhausted("no row is left for the neighbours")

    problem = make(term=term)
    with pytest.raises(BudgetExhausted):
        problem.loss(np.array([[8.0, 50]]))
    np.testing.assert_array_equal(trace_of(problem).best_asked, [8, 50])
    assert [queries for queries, _ in trace_of(problem).anytime] == [1]


def test_a_question_past_the_budget_leaves_the_trace_as_it_was() -> None:
    problem = make(max_queries=3)
    problem.loss(np.array([[8.0, 50], [7, 50]]))
    with pytest.raises(BudgetExhausted):
        problem.loss(np.array([[6.0, 50], [6.5, 50]]))
    trace = trace_of(problem)
    assert [queries for queries, _ in trace.anytime] == [1, 2]
    assert trace.best_asked is not None
    assert trace.best_asked[0] == 7
    assert problem.queries_left == 1


def test_what_a_searcher_needs_it_has_to_declare() -> None:
    problem = make()
    asks: list[tuple[Callable[[], object], str]] = [
        (lambda: problem.predict_proba(size(2)), "PROBABILITIES"),
        (lambda: problem.training, "TRAINING_DATA"),
        (lambda: problem.model, "MODEL"),
        (lambda: problem.forest, "FOREST"),
        (lambda: problem.gradients(size(2)), "GRADIENTS"),
    ]
    for ask, need in asks:
        with pytest.raises(NotDeclaredError, match=f"add Need.{need} to its entry"):
            ask()


def test_what_was_declared_is_there() -> None:
    training, model = TrainingFold(X[np.newaxis], np.array([0])), object()
    meter = Meter(Threshold(), d=2)
    problem = Problem(X, 1, SPACE, meter, needs=list(Need), training=training, model=model)
    assert problem.training is training
    assert problem.model is model
    np.testing.assert_allclose(problem.predict_proba(size(2)), [[0.8, 0.2]])
    assert meter.search_queries == 1


def test_reported_figures_are_numbers_the_last_one_counts() -> None:
    problem = make()
    problem.report("lower bound", 1)
    problem.report("lower bound", np.float64(0.5))
    assert trace_of(problem).figures == {"lower bound": 0.5}
    with pytest.raises(ValueError, match="could not convert"):
        problem.report("lower bound", "low")  # type: ignore[arg-type]


def test_of_reported_sets_the_last_one_is_kept_as_it_was() -> None:
    problem = make()
    Z = np.array([[1.0, 2.0], [3.0, 4.0]])
    problem.report_candidates(Z[:1])
    problem.report_candidates(Z)
    Z[:] = 0.0
    assert np.array_equal(trace_of(problem).reported, [[1.0, 2.0], [3.0, 4.0]])  # type: ignore[arg-type]
    for wrong in (np.zeros(2), np.zeros((1, 3)), np.zeros((0, 2))):
        with pytest.raises(CfbenchError, match=r"a set of candidates has shape \(k, 2\) with at least one row, not"):
            problem.report_candidates(wrong)
    with pytest.raises(CfbenchError, match="it has NaN or infinity"):
        problem.report_candidates(np.array([[1.0, np.nan]]))
    assert np.array_equal(trace_of(problem).reported, [[1.0, 2.0], [3.0, 4.0]])  # type: ignore[arg-type]


def test_an_objectives_own_rows_are_part_of_the_question() -> None:
    meter = Meter(Threshold(), d=2, max_queries=17)

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        meter.predict_for_objective(np.repeat(Z, 3, axis=0))
        return np.zeros(len(Z))

    problem = Problem(X, 1, SPACE, meter, budget=SearchBudget(17), term=term, term_rows=3)
    assert (problem.queries_left, problem.evaluations_left) == (17, 4)
    problem.loss(np.tile(X, (3, 1)))
    assert (meter.search_queries, meter.robustness_queries) == (3, 9)
    assert (problem.queries_left, problem.evaluations_left) == (5, 1)
    with pytest.raises(BudgetExhausted, match=r"8 more would .* 5 are left"):
        problem.loss(np.tile(X, (2, 1)))
    assert (meter.search_queries, meter.robustness_queries) == (3, 9)  # nothing was asked in part
    problem.predict(np.tile(X, (5, 1)))  # asked without the objective
    assert problem.evaluations_left == 0
    assert make().evaluations_left is None


def test_declared_training_data_may_be_absent() -> None:
    assert Problem(X, 1, SPACE, Meter(Threshold(), d=2), needs=[Need.TRAINING_DATA]).training is None
