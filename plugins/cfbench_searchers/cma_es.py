"""CMA-ES: a covariance matrix adaptation evolution strategy on the feasible box, categories decoded by rounding."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from pydantic import Field

from cfbench import Best, BudgetExhausted, Problem, Searcher
from cfbench.space import FloatArray

MAXIMAL_DEVIATION = 1 / 3
"""The largest standard deviation of a coordinate, as a share of its interval: what the library sets with bounds."""


class CmaEs(Searcher):
    """CMA-ES as the package `cma` implements it, from `x` on, with the settings of the published experiments' code.

    Every feature that may change becomes a coordinate in [0, 1]: a numerical one as a share of its feasible interval,
    a categorical one is cut into equal cells, one per category. Decision: a coordinate that has come within `snap` of
    that of `x` is decoded as `x` itself; a continuous search would never meet a value exactly, and every change
    costs. Candidates that break a relation between features are repaired before they are evaluated.

    Parameters
    ----------
    n_rows : int
        Candidates after which no further generation begins; the strategy may converge and stop before. Under an
        objective with draws, the re-evaluation of the best ones (`cfbench.Best`) is added.
    population_size : int
    step_size : float
        The first standard deviation, as a share of each coordinate.
    snap : float

    References
    ----------
    Hansen and Ostermeier, "Completely derandomized self-adaptation in evolution strategies", Evolutionary Computation
    9(2), 2001.
    """

    n_rows: int = Field(default=100_000, ge=1)
    population_size: int = Field(default=100, ge=4)
    step_size: float = Field(default=0.25, gt=0)
    snap: float = Field(default=1e-6, ge=0)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the best candidate of the target class, as `cfbench.Best` chooses it; None if there was none."""
        best = Best(problem)
        coordinates = Coordinates(problem, self.snap)
        if len(coordinates.home):
            with suppress(BudgetExhausted):
                self._evolve(coordinates, rng, best)
        return best.choose()

    def _evolve(self, coordinates: Coordinates, rng: np.random.Generator, best: Best) -> None:
        import cma
        from cma.transformations import BoxConstraintsLinQuadTransformation

        # The library's own option `bounds` maps one point at a time, which took two thirds of a search. Mapping whole
        # generations with the same class gives the same numbers.
        into_box = BoxConstraintsLinQuadTransformation([[0, 1]])
        options = {
            "maxstd": MAXIMAL_DEVIATION,
            "popsize": self.population_size,
            "maxfevals": self.n_rows,
            # Draws come from the search's own generator; the global one is neither seeded nor used.
            "randn": lambda *shape: rng.standard_normal(shape),
            "seed": np.nan,
            "verbose": -9,
            "verb_log": 0,
        }
        start = into_box.inverse(coordinates.home.copy())
        strategy = cma.CMAEvolutionStrategy(start, self.step_size, options)
        while not strategy.stop():
            points = strategy.ask()
            boxed = into_box(np.concatenate(points)).reshape(len(points), -1)
            values, _ = best.evaluate(coordinates.decode(boxed))
            strategy.tell(points, values.tolist())


class Coordinates:
    """The features of one problem that may change, each as a coordinate in [0, 1].

    Parameters
    ----------
    problem : Problem
    snap : float
        Distance from the coordinate of `x` below which a numerical coordinate is that of `x`.

    Attributes
    ----------
    home : ndarray of float64, shape (k,)
        The coordinates of `x`. A single changeable feature gets an additional idle coordinate, because `cma` does not
        support one dimension.
    """

    def __init__(self, problem: Problem, snap: float) -> None:
        box = problem.box
        is_categorical = problem.space.is_categorical
        self._problem = problem
        self._snap = snap
        self._x = problem.home
        self._free = np.flatnonzero(box.upper > box.lower)
        # Half a category to either side, so that the outermost ones have cells as wide as the others.
        margin = np.where(is_categorical, 0.5, 0.0)
        self._start = (box.lower - margin)[self._free]
        self._width = (box.upper - box.lower + 2 * margin)[self._free]
        self._snaps = ~is_categorical[self._free]
        self._home = (self._x[self._free] - self._start) / self._width
        self.home = np.append(self._home, 0.5) if len(self._free) == 1 else self._home

    def decode(self, points: FloatArray) -> FloatArray:
        """Return the candidates, shape (n, d), that points, shape (n, k), stand for."""
        Z = np.tile(self._x, (len(points), 1))
        points = points[:, : len(self._free)]
        at_home = self._snaps & (np.abs(points - self._home) <= self._snap)
        Z[:, self._free] = np.where(at_home, self._x[self._free], self._start + points * self._width)
        return self._problem.repair(Z)
