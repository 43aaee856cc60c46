from __future__ import annotations

import inspect
import random
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from cfbench import (
    BudgetExhausted,
    Constraint,
    CounterfactualSet,
    FeatureSpace,
    FeatureSpec,
    Kind,
    TrainingFold,
)
from cfbench.problem.problem import trace_of
from cfbench.space import FloatArray
from cfbench_searchers.dice import DiceA, DiceB
from tests.plugins.searchers.problems import (
    MIXED,
    MIXED_X,
    Classify,
    SpiedProblem,
    categories,
    never,
    numbers,
    rng,
    searched,
)

SMALL = {"n_counterfactuals": 4, "n_iterations": 10, "patience": 300}

PATIENCE_RAN_OUT = "the random points of the start, `patience` of them in a row, are of other classes"

pytestmark = pytest.mark.skipif(find_spec("dice_ml") is None, reason='needs the library: pip install "dice-ml>=0.12"')


@pytest.fixture(params=["kdtree", "random"])
def start(request: pytest.FixtureRequest) -> str:
    """A setting of `initialization`."""
    return str(request.param)


def generators() -> tuple[object, str]:
    return random.getstate(), str(np.random.get_state())  # noqa: NPY002 - the global generator is meant


class Task(SpiedProblem):
    """A problem with a training fold drawn from the intervals."""

    def __init__(
        self, space: FeatureSpace, x: Any, classify: Classify, *, max_queries: int | None = 20_000, **options: Any
    ) -> None:
        drawn = space.lower + rng(9).random((60, space.d)) * (space.upper - space.lower)
        X = np.where(space.is_categorical, np.rint(drawn), np.round(drawn, 9))
        options = {"training": TrainingFold(X, np.zeros(len(X), dtype=np.int64)), **options}
        super().__init__(space, x, classify, max_queries=max_queries, **options)
        self.classify = classify

    def search(self, seed: int = 0, **settings: Any) -> FloatArray | None:
        """Return the rows of the set that DiCE finds, all of them of the target class.

        From a random start, whatever it queries and finds is feasible. The k-d tree queries the whole fold, and may add
        a row of zeros.
        """
        is_random = settings.get("initialization", "kdtree") == "random"
        before = generators()
        found = searched(DiceA(**{**SMALL, **settings}), self, seed)
        assert generators() == before
        if is_random:
            assert self.is_feasible(np.concatenate(self.asked)).all()
        assert self.meter.search_queries == sum(map(len, self.asked))
        assert (found is None) == bool(trace_of(self).reason)
        if found is None:
            return None
        assert isinstance(found, CounterfactualSet)
        if is_random:
            assert self.is_feasible(found.Z).all()
        assert (np.asarray(self.classify(found.Z)) == self.target).all()
        return found.Z


def test_the_settings_are_the_papers_where_it_names_them_and_the_librarys_where_it_does_not() -> None:
    from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic

    own = inspect.signature(DiceGenetic._generate_counterfactuals).parameters
    weights = {name: own[name].default for name in ("proximity_weight", "sparsity_weight", "diversity_weight")}
    a, b = DiceA().model_dump(), DiceB().model_dump()
    assert a == {
        "n_counterfactuals": 20,
        "n_iterations": 500,
        **weights,
        "patience": 10_000,
        "initialization": "kdtree",
    }
    assert b == {
        "n_counterfactuals": 100,
        "n_iterations": 100,
        "proximity_weight": 0.5,
        "sparsity_weight": 0.5,
        "diversity_weight": 0,
        "patience": 10_000,
        "initialization": "kdtree",
    }
    assert own["initialization"].default == "kdtree"


@pytest.mark.slow
@pytest.mark.parametrize("constraints", [False, True])
def test_from_a_random_start_every_row_asked_and_every_row_found_is_feasible(constraints: bool) -> None:
    x = MIXED_X.copy()
    x[3] = 1.7512345678912  # a fixed feature, not to be had as float32
    Z = Task(MIXED, x, lambda Z: Z[:, 4] == 3, constraints=constraints).search(initialization="random")
    assert Z is not None
    assert Z.shape == (4, 8)
    if constraints:
        assert set(Z[:, 3]) == {1.7512345678912}


def test_the_k_d_tree_start_takes_the_rows_of_the_target_class_nearest_to_x() -> None:
    X = np.column_stack([np.arange(1, 101) / 10, np.linspace(0.015, 0.985, 100)])
    task = Task(
        numbers((0, 10), (0, 1)),
        [2.05, 0.5],
        lambda Z: Z[:, 0] > 3.05,
        training=TrainingFold(X, np.zeros(100, dtype=np.int64)),
    )
    Z = task.search(n_counterfactuals=2)
    # x twice, the fold, and the first generation: the 20 nearest rows of the target class, none of them drawn.
    assert [len(rows) for rows in task.asked[:4]] == [1, 1, 100, 20]
    assert task.asked[2].tolist() == X.tolist()
    assert task.asked[3].tolist() == X[30:50].tolist()
    # Whatever is found has the values of those rows, or the lower end, which is what mutation gives.
    assert Z is not None
    assert set(Z[:, 0]) <= {0, *X[30:50, 0]}
    assert set(Z[:, 1]) <= {0, *X[30:50, 1]}


def test_values_outside_the_bounds_are_not_taken_from_the_fold() -> None:
    space = FeatureSpace(
        (
            FeatureSpec("up", Kind.NUMERICAL, 0, 10, constraint=Constraint.ONLY_UP),
            FeatureSpec("free", Kind.NUMERICAL, 0, 1),
        )
    )
    X = np.column_stack([np.arange(100) / 10, np.linspace(0.015, 0.985, 100)])
    fold = TrainingFold(X, np.zeros(100, dtype=np.int64))
    task = Task(space, [2.05, 0.5], lambda Z: Z[:, 1] > 0.1, training=fold, constraints=True)
    Z = task.search(n_counterfactuals=2)
    assert task.is_feasible(np.concatenate(task.asked[3:])).all()
    assert Z is not None


@pytest.mark.parametrize("target", [0, 1, 2])
def test_the_class_wanted_is_the_target_whatever_others_there_are(target: int) -> None:
    cuts = np.array([3.0, 7.0])
    task = Task(
        numbers((0, 10), (0, 1)),
        [(5.0, 8.0, 1.0)[target], 0.5],
        lambda Z: np.searchsorted(cuts, Z[:, 0]),
        target=target,
        n_classes=3,
    )
    assert task.search() is not None


def test_tiny_and_far_intervals_keep_their_digits() -> None:
    task = Task(numbers((0, 1e-9), (1e9, 1e9 + 1)), [1e-10, 1e9 + 0.3], lambda Z: Z[:, 0] > 5e-10)
    Z = task.search()
    assert Z is not None
    assert len(np.unique(np.concatenate(task.asked)[:, 1] % 1)) > 10


def test_steps_are_kept_where_they_must_be(start: str) -> None:
    space = FeatureSpace(
        (
            FeatureSpec("n", Kind.NUMERICAL, 0.5, 8.5, step=1.0),
            FeatureSpec("m", Kind.NUMERICAL, -9, 9, step=3.0),
            FeatureSpec("k", Kind.NUMERICAL, 0, 1, step=0.1),
        )
    )
    assert Task(space, [1, -9, 0.2], lambda Z: Z[:, 0] > 3, respect_steps=True).search(initialization=start) is not None


def test_a_category_that_the_training_fold_lacks_is_no_obstacle() -> None:
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (10, 1))
    fold = TrainingFold(X, np.zeros(20, dtype=np.int64))
    Z = Task(categories(2, 3), [0, 2], lambda Z: Z[:, 0] == 1, training=fold).search()
    assert Z is not None
    assert set(Z[:, 1]) <= {0, 1, 2}


def test_nothing_is_found_where_the_model_never_says_the_target_class(start: str) -> None:
    task = Task(numbers((0, 1), (0, 1)), [0, 0], never, max_queries=None)
    assert task.search(initialization=start) is None
    assert trace_of(task).reason == PATIENCE_RAN_OUT
    # The library queries x twice first; the k-d tree queries the fold of 60 rows, after which patience starts anew.
    assert task.meter.search_queries == SMALL["patience"] + (62 if start == "kdtree" else 0)


def test_a_k_d_tree_start_that_does_not_end_is_bounded_by_patience() -> None:
    # Nothing but one row of the fold is of the target class: no random point ever joins it.
    X = np.linspace(0.05, 0.95, 10)[:, np.newaxis]
    fold = TrainingFold(X, np.zeros(10, dtype=np.int64))
    for patience in (50, 70):
        task = Task(numbers((0, 1)), [0.2], lambda Z: Z[:, 0] == X[7, 0], training=fold, max_queries=None)
        assert task.search(patience=patience) is None
        assert trace_of(task).reason == PATIENCE_RAN_OUT
        assert task.meter.search_queries == 2 + 10 + patience
        best = trace_of(task).best_asked
        assert best is not None
        assert best.tolist() == X[7].tolist()


def test_nothing_is_asked_where_nothing_may_change() -> None:
    task = Task(categories(1, 1), [0, 0], never)
    assert searched(DiceA(), task) is None
    assert trace_of(task).reason == "no feature may change"
    assert task.asked == []


def test_nothing_is_found_where_the_librarys_distance_is_no_number(start: str) -> None:
    # All features are so widely spread that their weights round to zero: the library divides by their sum.
    def task() -> Task:
        return Task(numbers((-1e9, 1e9), (0, 1e9)), [0, 0], lambda Z: Z[:, 0] > 5)

    without = task()
    assert without.search(initialization=start) is None
    assert trace_of(without).reason == "the best of the library's last generation are of other classes"
    assert task().search(initialization=start, proximity_weight=0) is not None


def test_a_population_of_a_single_point_is_the_answer() -> None:
    Z = Task(categories(4), [0], lambda Z: Z[:, 0] == 2).search()
    assert Z is not None
    assert Z.tolist() == [[2]]


def test_an_exhausted_budget_leaves_the_best_row_that_was_asked() -> None:
    task = Task(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.5, max_queries=80)
    with pytest.raises(BudgetExhausted):
        task.search()
    asked = np.concatenate(task.asked)
    hits = asked[asked[:, 0] > 0.5]
    best = trace_of(task).best_asked
    assert best is not None
    assert best.tolist() == hits[task.distance(hits).argmin()].tolist()


def test_an_exhausted_budget_leaves_the_cheapest_rows_that_were_asked_as_the_set() -> None:
    task = Task(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.5, max_queries=80)
    with pytest.raises(BudgetExhausted):
        task.search()
    asked = np.concatenate(task.asked)
    hits = np.unique(asked[asked[:, 0] > 0.5], axis=0)
    reported = trace_of(task).reported
    assert reported is not None
    assert len(hits) > len(reported) == SMALL["n_counterfactuals"]
    assert task.distance(reported).tolist() == np.sort(task.distance(hits))[: len(reported)].tolist()
    assert {tuple(row) for row in reported} <= {tuple(row) for row in hits}


def test_a_model_that_fails_and_a_wrong_argument_are_no_empty_answers() -> None:
    def broken(Z: FloatArray) -> Any:
        if len(Z) > 1:
            raise ValueError("the model is broken")
        return Z[:, 0] > 0.5

    task = Task(numbers((0, 1), (0, 1)), [0, 0], broken)
    with pytest.raises(ValueError, match="the model is broken"):
        task.search()
    wrong = DiceA.model_construct(**{**DiceA().model_dump(), "n_counterfactuals": 0})
    with pytest.raises(Exception, match="should be a positive integer"):
        searched(wrong, task)
