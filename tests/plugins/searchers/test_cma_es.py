from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cma
import numpy as np
import pytest

from cfbench import FeatureSpace, Problem
from cfbench.space import FloatArray
from cfbench_searchers.cma_es import CmaEs, Coordinates

SMALL = CmaEs(n_rows=4000, population_size=20)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_the_defaults_are_those_of_the_published_code() -> None:
    assert CmaEs().model_dump() == {"n_rows": 100_000, "population_size": 100, "step_size": 0.25, "snap": 1e-6}


def test_coordinates_stand_for_values_and_for_equal_cells_of_categories(
    make_problem: Callable[..., Problem], mixed: FeatureSpace, mixed_x: FloatArray
) -> None:
    problem = make_problem(mixed, mixed_x, lambda Z: np.zeros(len(Z)), constraints=True)
    coordinates = Coordinates(problem, snap=1e-6)
    # Height, sex and planet cannot change. Age may rise from 40, debt fall to 0 from 5e-4.
    assert coordinates.home == pytest.approx([0, 1, 1, 0.125, 5 / 6])
    assert coordinates.decode(coordinates.home[np.newaxis])[0].tolist() == mixed_x.tolist()
    Z = coordinates.decode(np.array([[0.5, 0.5, 0.5, 0.26, 0.3], [0.0, 1 - 1e-7, 1.0, 0.99, 0.34]]))
    assert Z[0].tolist() == pytest.approx([65, 9750, 2.5e-4, 1.75, 1, 1, 0, 0])
    assert Z[1].tolist() == [40, 20_000, 5e-4, 1.75, 3, 1, 1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 3])
def test_finds_a_threshold(make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], d: int) -> None:
    problem = make_problem(numbers(*[(0, 10)] * d), np.full(d, 2.0), lambda Z: Z[:, 0] > 4)
    z = SMALL.search(problem, rng())
    assert z is not None
    assert 4 < z[0] < 4.01
    assert z[1:].tolist() == [2.0] * (d - 1)


def test_finds_a_category(make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace]) -> None:
    z = SMALL.search(make_problem(categories(4, 3), [0, 0], lambda Z: Z[:, 0] == 1), rng())
    assert z is not None
    assert z.tolist() == [1, 0]


def test_asks_whole_generations_up_to_its_rows(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    CmaEs(n_rows=50, population_size=20).search(
        make_problem(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.5), rng()
    )
    assert [len(Z) for Z in asked] == [20, 20, 20]


@pytest.mark.slow
def test_same_generator_same_search_without_traces(
    make_problem: Callable[..., Problem],
    mixed: FeatureSpace,
    mixed_x: FloatArray,
    asked: list[FloatArray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.random.seed(1)  # noqa: NPY002 - the search must leave the global generator alone
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    runs = []
    for seed in (3, 3, 4):
        asked.clear()
        SMALL.search(make_problem(mixed, mixed_x, lambda Z: Z[:, 4] == 3), rng(seed))
        runs.append(np.concatenate(asked).tolist())
    assert runs[0] == runs[1] != runs[2]
    assert np.random.random() == expected  # noqa: NPY002
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_search_where_nothing_can_change(
    make_problem: Callable[..., Problem], categories: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    assert SMALL.search(make_problem(categories(1, 1), [0, 0], lambda Z: np.zeros(len(Z))), rng()) is None
    assert not asked


@pytest.mark.parametrize("budget", [1, 5, 30])
def test_a_budget_ends_the_search_with_the_best_so_far(
    make_problem: Callable[..., Problem],
    numbers: Callable[..., FeatureSpace],
    asked: list[FloatArray],
    budget: int,
) -> None:
    problem = make_problem(numbers((0, 1), (0, 1)), [0, 0], lambda Z: Z[:, 0] > 0.1, max_queries=budget)
    z = SMALL.search(problem, rng())
    rows = np.concatenate(asked)
    assert len(rows) == budget
    hits = rows[rows[:, 0] > 0.1]
    best = hits[problem.distance(hits).argmin()].tolist() if len(hits) else None
    assert (None if z is None else z.tolist()) == best


def test_generations_are_mapped_as_the_library_maps_points(
    make_problem: Callable[..., Problem], numbers: Callable[..., FeatureSpace], asked: list[FloatArray]
) -> None:
    """The library's own option `bounds` maps each point on its own: the same rows, more slowly."""
    problem = make_problem(numbers((0, 1), (0, 1), (0, 1)), [0.1, 0.9, 0.5], lambda Z: Z[:, 0] + Z[:, 2] > 1.9)
    SMALL.search(problem, rng())
    rows = np.concatenate(asked)

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
