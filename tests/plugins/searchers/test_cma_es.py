from __future__ import annotations

import cma
import numpy as np
import pytest

from cfbench_searchers.cma_es import CmaEs, Coordinates
from tests.plugins.searchers.problems import MIXED, MIXED_X, SpiedProblem, answer_of, categories, never, numbers, rng

SMALL = CmaEs(n_rows=4000, population_size=20)


def test_the_defaults_are_those_of_the_published_code() -> None:
    assert CmaEs().model_dump() == {"n_rows": 100_000, "population_size": 100, "step_size": 0.25, "snap": 1e-6}


def test_coordinates_stand_for_values_and_for_equal_cells_of_categories() -> None:
    problem = SpiedProblem(MIXED, MIXED_X, never, constraints=True)
    coordinates = Coordinates(problem, snap=1e-6)
    # Height, sex and planet cannot change. Age may rise from 40, debt fall to 0 from 5e-4.
    assert coordinates.home == pytest.approx([0, 1, 1, 0.125, 5 / 6])
    assert coordinates.decode(coordinates.home[np.newaxis])[0].tolist() == MIXED_X.tolist()
    Z = coordinates.decode(np.array([[0.5, 0.5, 0.5, 0.26, 0.3], [0.0, 1 - 1e-7, 1.0, 0.99, 0.34]]))
    assert Z[0].tolist() == pytest.approx([65, 9750, 2.5e-4, 1.75, 1, 1, 0, 0])
    assert Z[1].tolist() == [40, 20_000, 5e-4, 1.75, 3, 1, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 3])
def test_finds_a_threshold(d: int) -> None:
    problem = SpiedProblem(numbers(*[(0, 10)] * d), np.full(d, 2.0), lambda Z: Z[:, 0] > 4)
    z = answer_of(SMALL, problem)
    assert 4 < z[0] < 4.01
    assert z[1:].tolist() == [2.0] * (d - 1)


def test_finds_a_category() -> None:
    z = answer_of(CmaEs(n_rows=800, population_size=20), SpiedProblem(categories(4, 3), [0, 0], lambda Z: Z[:, 0] == 1))
    assert z.tolist() == [1, 0]


def test_asks_whole_generations_up_to_its_rows() -> None:
    problem = SpiedProblem(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.5)
    CmaEs(n_rows=50, population_size=20).search(problem, rng())
    assert [len(Z) for Z in problem.asked] == [20, 20, 20]


def test_nothing_to_search_where_nothing_can_change() -> None:
    problem = SpiedProblem(categories(1, 1), [0, 0], never)
    assert SMALL.search(problem, rng()) is None
    assert not problem.asked


@pytest.mark.parametrize("budget", [1, 5, 30])
def test_a_budget_ends_the_search_with_the_best_so_far(budget: int) -> None:
    problem = SpiedProblem(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.1, max_queries=budget)
    z = SMALL.search(problem, rng())
    rows = np.concatenate(problem.asked)
    assert len(rows) == budget
    hits = rows[rows[:, 0] > 0.1]
    best = hits[problem.distance(hits).argmin()].tolist() if len(hits) else None
    assert (None if z is None else z.tolist()) == best


def test_generations_are_mapped_as_the_library_maps_points() -> None:
    """The library's own option `bounds` maps each point on its own: the same rows, more slowly."""
    problem = SpiedProblem(numbers((0, 1), (0, 1), (0, 1)), [0.1, 0.9, 0.5], lambda Z: Z[:, 0] + Z[:, 2] > 1.9)
    SMALL.search(problem, rng())
    rows = np.concatenate(problem.asked)

    draws = rng()
    options = {"bounds": [0, 1], "popsize": 20, "seed": np.nan, "verbose": -9, "verb_log": 0, "maxfevals": 4000}
    strategy = cma.CMAEvolutionStrategy(
        [0.1, 0.9, 0.5], 0.25, options | {"randn": lambda *shape: draws.standard_normal(shape)}
    )
    coordinates = Coordinates(problem, SMALL.snap)
    reference = []
    while not strategy.stop():
        points = strategy.ask()
        Z = coordinates.decode(np.array(points))
        reference.extend(Z.tolist())
        strategy.tell(points, problem.evaluate(Z)[0].tolist())
    assert rows.tolist() == reference
