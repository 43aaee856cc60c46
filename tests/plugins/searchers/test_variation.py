"""CoGS's operators, with and without a compiler: the same bits, and the same random numbers used."""

from __future__ import annotations

from collections.abc import Callable

import numba  # noqa: F401 - the compiled form serves where numba is loaded
import numpy as np
import pytest

from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind
from cfbench_searchers import cogs as variation
from cfbench_searchers.cogs import Cogs
from tests.plugins.searchers.problems import SpiedProblem, never, rng

SPACE = FeatureSpace(
    (
        FeatureSpec("free", Kind.NUMERICAL, -1, 1),
        FeatureSpec("stepped", Kind.NUMERICAL, 0, 30, step=0.1),
        FeatureSpec("rising", Kind.NUMERICAL, -5, 5, constraint=Constraint.ONLY_UP),
        FeatureSpec("one", Kind.CATEGORICAL, 0, 0, categories=("a",)),
        FeatureSpec("two", Kind.CATEGORICAL, 0, 1, categories=("a", "b")),
        FeatureSpec("many", Kind.CATEGORICAL, 0, 6, categories=tuple("abcdefg")),
        FeatureSpec("held", Kind.CATEGORICAL, 0, 2, categories=tuple("abc"), constraint=Constraint.FIXED),
    )
)
X = np.array([-0.0, 3.0, -0.0, 0, 1, 4, 2])


def with_it() -> None:
    """Leave the compiler where it is."""


@pytest.fixture(autouse=True)
def _compiled() -> None:
    """Wait until the kernels are compiled."""
    variation.KERNELS.load()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return what takes the compiler away."""
    return lambda: monkeypatch.setattr(variation, "_compiled", lambda: None)


@pytest.mark.parametrize("respect_steps", [False, True])
@pytest.mark.parametrize("constraints", [False, True])
def test_crossover_and_mutation(without: Callable[[], None], constraints: bool, respect_steps: bool) -> None:
    assert variation._compiled() is not None
    problem = SpiedProblem(SPACE, X, never, constraints=constraints, respect_steps=respect_steps)
    box = problem.box
    steps = np.maximum(0.4 * SPACE.ranges, box.spacing)
    made = []
    for take in (with_it, without):
        take()
        draws = rng(3)
        population = box.sample(400, draws)
        population[::5] = box.nearest(X)
        for _ in range(20):
            population = variation.cross(population, draws.permutation(400), draws)
            variation.mutate(population, box, steps, draws)
        made.append((population.view(np.int64).tolist(), draws.random()))
    assert made[0] == made[1]
    assert len(np.unique(made[0][0], axis=0)) > 300


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40])
def test_tournaments(without: Callable[[], None], size: int) -> None:
    draws = rng(size)
    values = draws.integers(0, 10, 40).astype(np.float64)  # many are equal
    values[draws.random(40) < 0.1] = np.nan
    values[draws.random(40) < 0.1] = np.inf
    chosen = []
    for take in (with_it, without):
        take()
        draws = rng(7)
        chosen.append([variation.winners(values, size, draws).tolist() for _ in range(30)])
    assert chosen[0] == chosen[1]


def test_a_whole_search(without: Callable[[], None]) -> None:
    searches = []
    for take in (with_it, without):
        take()
        problem = SpiedProblem(SPACE, X, lambda Z: (Z[:, 0] > 0.5) & (Z[:, 5] == 2), constraints=True)
        z = Cogs(population_size=60, n_generations=15, tournament_size=3).search(problem, rng(2))
        assert z is not None
        searches.append((z.tolist(), np.concatenate(problem.asked).tobytes()))
    assert searches[0] == searches[1]


def test_the_warm_up_calls_every_kernel_as_searches_do() -> None:
    variation.warm_up()
    kernels = variation._compiled()
    assert kernels is not None
    operators = (kernels.cross, kernels.mutate, kernels.winners)
    before = [len(operator.signatures) for operator in operators]
    problem = SpiedProblem(SPACE, X, never)
    Cogs(population_size=10, n_generations=2).search(problem, rng())
    assert [len(operator.signatures) for operator in operators] == before
