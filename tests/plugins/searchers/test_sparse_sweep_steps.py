"""The parts of sparse-sweep, each on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cfbench import BudgetExhausted, FeatureSpace, FeatureSpec, Kind, Problem, TrainingFold
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.candidates import CandidateGrid, QueriedCandidates, ScoredRow
from cfbench_searchers.sparse_sweep.robust import MeanValues, chosen, moves, retreats
from cfbench_searchers.sparse_sweep.smooth import exchange, explore, smooth
from cfbench_searchers.sparse_sweep.starts import in_blocks, one_by_one, training_starts
from cfbench_searchers.sparse_sweep.sweeps import anywhere, beyond, grids, polish, rests_on_draws, sweep, zoom

MakeProblem = Callable[..., Problem]
Numbers = Callable[..., FeatureSpace]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def queried_of(problem: Problem, training: TrainingFold | None = None, *, keeping: bool = False) -> QueriedCandidates:
    return QueriedCandidates(problem, CandidateGrid(problem, training, 300), None, by_value=False, keeping=keeping)


def found(problem: Problem, *values: float) -> ScoredRow:
    z = np.array(values)
    return ScoredRow(float(problem.distance(z[np.newaxis])[0]), z)


def beyond_half(Z: FloatArray) -> Any:
    return Z[:, 0] > 0.5


# ------------------------------------------------------------- the terrain


def test_levels_are_training_values_and_midpoints_within_the_constraints(make_problem: MakeProblem) -> None:
    space = FeatureSpace(
        (FeatureSpec("n", Kind.NUMERICAL, 0, 10), FeatureSpec("c", Kind.CATEGORICAL, 0, 2, tuple("abc")))
    )
    training = TrainingFold(np.array([[1.0, 0], [2, 1], [6, 1]]), np.zeros(3, dtype=np.int64))
    grid = CandidateGrid(make_problem(space, [2.0, 1.0], beyond_half), training, 300)
    assert grid.levels[0].tolist() == [0, 1, 1.5, 4, 6, 10]
    assert grid.levels[1].tolist() == [0, 2]
    # A change costs 1/4, moving 1/40 a unit; another category 1/2.
    assert grid.costs[0] == pytest.approx(0.25 + np.array([2, 1, 0.5, 2, 4, 8]) / 40)
    assert grid.costs[1] == pytest.approx([0.5, 0.5])
    assert grid.least == pytest.approx([0.25, 0.5])
    assert grid.slope[0] == pytest.approx(1 / 40)
    assert grid.bound([0, 1]) == grid.cheapest_pair() == pytest.approx(0.75)


def test_many_training_values_are_thinned(make_problem: MakeProblem, numbers: Numbers) -> None:
    X = rng().random((1000, 1))
    grid = CandidateGrid(
        make_problem(numbers((0, 1)), [0.5], beyond_half), TrainingFold(X, np.zeros(1000, np.int64)), 20
    )
    assert len(grid.levels[0]) == 41  # twenty, nineteen midpoints, the ends
    assert len(grid.some_levels(0, 7)) == 7


def test_values_between_two_keep_to_steps_and_stop_where_there_are_none(make_problem: MakeProblem) -> None:
    space = FeatureSpace((FeatureSpec("n", Kind.NUMERICAL, 0, 10, step=1.0), FeatureSpec("m", Kind.NUMERICAL, 0, 1)))
    grid = CandidateGrid(make_problem(space, [0.0, 0.0], beyond_half, respect_steps=True), None, 300)
    assert grid.between(0, 2.0, 6.0, 7).tolist() == [3, 4, 5]
    assert grid.between(0, 6.0, 2.0, 7).tolist() == [5, 4, 3]
    assert grid.between(0, 2.0, 3.0, 7).tolist() == []
    assert grid.between(1, 0.0, 0.8, 3) == pytest.approx([0.2, 0.4, 0.6])
    assert grid.between(1, 0.5, 0.5 + 1e-8, 3).tolist() == []


# ------------------------------------------------------------- asking


def test_a_question_past_the_budget_is_asked_as_far_as_it_goes(make_problem: MakeProblem, numbers: Numbers) -> None:
    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half, max_queries=3)
    queried = queried_of(problem)
    Z = np.array([[0.4, 0], [0.9, 0], [0.8, 0.1], [0.6, 0]])
    with pytest.raises(BudgetExhausted):
        queried.ask(Z)
    assert queried.best is not None
    assert queried.best.z.tolist() == [0.9, 0]
    assert {key: value.z.tolist() for key, value in queried.best_of.items()} == {(0,): [0.9, 0], (0, 1): [0.8, 0.1]}
    assert queried.left == 0


def test_an_allowance_of_its_own_ends_a_search_as_a_budget_does(make_problem: MakeProblem, numbers: Numbers) -> None:
    problem = make_problem(numbers((0, 1)), [0.0], beyond_half)
    queried = QueriedCandidates(problem, CandidateGrid(problem, None, 300), 2, by_value=False)
    with pytest.raises(BudgetExhausted):
        queried.ask(np.array([[0.1], [0.2], [0.3]]))
    queried.allow(1)
    assert queried.ask(np.array([[0.7]])) == pytest.approx([0.85])


def test_infeasible_rows_are_not_asked(make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]) -> None:
    queried = queried_of(make_problem(numbers((0, 1)), [0.0], beyond_half))
    assert queried.ask(np.array([[2.0], [0.75], [-1.0]])).tolist() == [np.inf, 0.875, np.inf]
    assert np.concatenate(asked).tolist() == [[0.75]]


# ------------------------------------------------------------- the steps


def test_a_sweep_asks_from_near_to_far_and_nothing_dearer_than_the_best(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]
) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 12), np.zeros(12), beyond_half)
    queried = queried_of(problem)
    sweep(queried)
    assert queried.best is not None
    assert queried.best.z[0] == pytest.approx(0.5, abs=1e-6)
    costs = [problem.distance(Z) for Z in asked]
    assert all((np.diff(cost) >= 0).all() for cost in costs[:2])
    assert max(cost.max() for cost in costs) < queried.value + 0.04  # the batch in which the first hit was
    assert sum(map(len, asked)) < 12 * 100


def test_a_zoom_ends_at_the_boundary(make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]) -> None:
    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], lambda Z: Z[:, 0] > 1 / 3)
    at = zoom(queried_of(problem), found(problem, 1.0, 0.7), 0)
    assert 1 / 3 < at.z[0] < 1 / 3 + 1e-6
    assert at.z[1] == 0.7
    assert sum(map(len, asked)) < 70


def test_polishing_puts_back_what_is_not_needed(make_problem: MakeProblem, numbers: Numbers) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 4), np.zeros(4), lambda Z: (Z[:, 0] > 0.5) & (Z[:, 3] > 0.25))
    at = polish(queried_of(problem), found(problem, 0.9, 0.9, 0.2, 1.0))
    assert at.z == pytest.approx([0.5, 0, 0, 0.25], abs=1e-6)


@pytest.mark.parametrize("step", ["one by one", "in blocks"])
def test_reverting_keeps_what_is_needed(make_problem: MakeProblem, numbers: Numbers, step: str) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 40), np.zeros(40), lambda Z: (Z[:, 5] > 0.5) & (Z[:, 30] > 0.5))
    queried, start = queried_of(problem), found(problem, *np.full(40, 0.9))
    at = one_by_one(queried, [start])[0] if step == "one by one" else in_blocks(queried, start, rng())
    assert np.flatnonzero(at.z).tolist() == [5, 30]


def test_starts_are_the_nearest_rows_of_the_target_class_whatever_their_label(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]
) -> None:
    X = np.array([[0.9, 0.2], [0.6, 0.1], [0.2, 0.1], [0.7, 0.9], [0.8, 0.0]])
    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half)
    training = TrainingFold(X, np.array([1, 0, 1, 1, 0]))
    starts = training_starts(queried_of(problem), training, 1, wanted=4, most=100)
    assert [start.z.tolist() for start in starts] == [[0.9, 0.2], [0.7, 0.9], [0.8, 0.0], [0.6, 0.1]]
    assert [len(Z) for Z in asked] == [3, 2]  # those with the label first


def test_grids_find_what_needs_two_features_and_leave_out_dear_sets(
    make_problem: MakeProblem, numbers: Numbers, asked: list[FloatArray]
) -> None:
    problem = make_problem(numbers(*[(0, 1)] * 5), np.zeros(5), lambda Z: (Z[:, 1] > 0.6) & (Z[:, 4] > 0.3))
    queried = queried_of(problem)
    grids(queried, 2, 6, [0, 1, 2, 3, 4], 10_000)
    assert queried.best is not None
    assert queried.best.z == pytest.approx([0, 0.6, 0, 0, 0.3], abs=1e-6)
    asked.clear()
    grids(queried, 3, 4, [0, 1, 2, 3, 4], 10_000)  # three changes cost 0.3 at least, the best 0.29
    assert asked == []


def test_smoothing_goes_along_the_boundary(make_problem: MakeProblem, numbers: Numbers) -> None:
    # On the circle around (0, 0) with radius 1.2 the sum of both is least at the ends of the box: (1, 0.663).
    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], lambda Z: (Z**2).sum(axis=1) > 1.44)
    at = smooth(queried_of(problem), found(problem, 0.86, 0.86))
    assert sorted(at.z) == pytest.approx([0.44**0.5, 1.0], abs=1e-3)


def test_an_exchange_finds_the_shorter_way(make_problem: MakeProblem, numbers: Numbers) -> None:
    def either(Z: FloatArray) -> Any:
        return ((Z[:, 0] > 0.8) & (Z[:, 1] > 0.8)) | ((Z[:, 0] > 0.8) & (Z[:, 2] > 0.1))

    problem = make_problem(numbers((0, 1), (0, 1), (0, 1)), np.zeros(3), either)
    queried = queried_of(problem)
    queried.ask(np.array([[0.81, 0.81, 0.0]]))
    assert queried.best is not None
    exchange(queried, queried.best, [0, 1, 2], 24)
    assert queried.best.z == pytest.approx([0.8, 0, 0.1], abs=1e-5)


def test_exploring_ends_where_nothing_can_be_better(make_problem: MakeProblem, categories: Numbers) -> None:
    problem = make_problem(categories(2, 2), [0.0, 0.0], beyond_half)
    queried = queried_of(problem)
    queried.ask(np.array([[1.0, 0.0]]))
    assert list(explore(queried, rng())) == []


# ------------------------------------------------------------- values that rest on draws


def noisy(noise: np.random.Generator, share: float = 0.5) -> Callable[[FloatArray, IntArray], FloatArray]:
    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        drawn: FloatArray = 0.5 * noise.binomial(20, share * (Z[:, 1] == 0)) / 20
        return drawn

    return term


def test_equal_rows_tell_whether_values_rest_on_draws(make_problem: MakeProblem, numbers: Numbers) -> None:
    terms: dict[str, Any] = {
        "drawn": noisy(rng(1)),
        "nothing yet": lambda Z, classes: np.zeros(len(Z)),
        "settled": lambda Z, classes: Z[:, 1],
    }
    said = {}
    for name, term in terms.items():
        problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half, term=term)
        queried = queried_of(problem)
        sweep(queried)
        said[name] = rests_on_draws(problem, np.concatenate([anywhere(queried, rng()), beyond(queried)]))
    assert said == {"drawn": True, "nothing yet": True, "settled": False}


def test_a_race_keeps_means_and_spends_its_allowance_alone(make_problem: MakeProblem, numbers: Numbers) -> None:
    seen: list[FloatArray] = []

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        seen.append(Z)
        rising: FloatArray = np.arange(len(Z), dtype=np.float64)
        return rising

    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half, term=term)
    means = MeanValues(problem, 9)
    places = means.enter(np.array([[0.6, 0.0], [0.8, 0.0]]))
    assert means.judge(places, 2).tolist() == [0, 1]
    # Rows are asked in one question, those of a candidate side by side: it added 0 and 1 to one, 2 and 3 to the other.
    assert means.means == pytest.approx([0.4 + 0.5, 0.45 + 2.5])
    means.judge(places[:1], 4)
    assert means.means[0] == pytest.approx(0.4 + (0 + 1 + 0 + 1) / 4)
    assert means.times.tolist() == [4, 2]
    assert means.left == 3
    with pytest.raises(BudgetExhausted):
        means.judge(places, 5)
    assert means.left == 3


def test_halving_judges_the_better_ones_more_often(make_problem: MakeProblem, numbers: Numbers) -> None:
    problem = make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half, term=noisy(rng(3), 0.1))
    means = MeanValues(problem, 1_000)
    places = means.enter(np.column_stack([np.linspace(0.55, 0.95, 16), np.zeros(16)]))
    order = means.halve(places, 2, 16)
    assert means.times[order].tolist() == [16, 16]
    assert sorted(means.times.tolist(), reverse=True) == [16] * 2 + [8] * 2 + [4] * 4 + [2] * 8


def test_chosen_candidates_are_the_cheapest_and_some_that_lie_deeper(
    make_problem: MakeProblem, numbers: Numbers
) -> None:
    queried = queried_of(make_problem(numbers((0, 1), (0, 1)), [0.0, 0.0], beyond_half), keeping=True)
    shares = np.linspace(0.6, 1.0, 200)
    queried.ask(np.concatenate([np.column_stack([shares, np.zeros(200)]), [[0.7, 0.7]]]))
    rows = chosen(queried, queried.take_kept())
    assert len(queried.take_kept()) == 0
    assert rows[:50, 0] == pytest.approx(shares[:50])
    assert rows[:, 0].max() == 1.0
    assert [0.7, 0.7] in rows.tolist()
    assert len(rows) < 60


def test_moves_and_retreats_are_feasible_and_others(make_problem: MakeProblem, mixed: FeatureSpace) -> None:
    x = np.array([40.0, 20_000.0, 5e-4, 1.75, 0.0, 1.0, 2.0, 0.0])
    problem = make_problem(mixed, x, beyond_half, constraints=True, respect_steps=True)
    queried = queried_of(problem)
    z = x.copy()
    z[[0, 2, 4]] = [60.0, 2e-4, 3.0]
    for rows in (moves(queried, z, 0.15, everything=True), retreats(queried, z)):
        assert problem.is_feasible(rows).all()
        assert (rows != z).any(axis=1).all()
    near = retreats(queried, z)
    assert (problem.distance(near) < problem.distance(z[np.newaxis])).all()
    put_back = (moves(queried, z, 0.15, everything=True) == x).sum(axis=1)
    assert (put_back == 6).sum() >= 3  # each of the three once, beside what else brings one back
