"""Asking: the one way from the steps of a search to the model, and the memory of what was found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfbench import BudgetExhausted, FloatArray, Problem
from cfbench_searchers.sparse_sweep.terrain import Terrain

REMEMBERED = 32
"""Rows of one question that are remembered at most, the best first."""

BETTER = 1e-12
"""By which a value has to be smaller to be better: less is rounding."""


class Found(NamedTuple):
    """A plausible row of the target class, and its value."""

    value: float
    z: FloatArray


class Inquiry:
    """Asks candidates and remembers the best, over all and for each set of changed features.

    Parameters
    ----------
    problem : Problem
    terrain : Terrain
    allowance : int or None
        Candidates that may be asked; None: as many as the problem's budget allows.
    by_value : bool
        Whether candidates are ranked by the problem's values. Otherwise they are asked for their classes alone and
        ranked by their cost, which is all of the value unless the objective has a term that is no sum over features.
    keeping : bool
        Whether all rows of the target class are kept, for a jury that ranks them otherwise. The cheapest is not the
        best then, and `ceiling` takes its place.

    Attributes
    ----------
    best : Found or None
    best_of : dict of (tuple of int) to Found
        The best for each set of changed features.
    asked : int
    ceiling : float
        What the jury gives the best of what was kept.
    """

    def __init__(
        self, problem: Problem, terrain: Terrain, allowance: int | None, *, by_value: bool, keeping: bool = False
    ) -> None:
        self._problem = problem
        self.terrain = terrain
        self._allowance = allowance
        self._by_value = by_value
        self.best: Found | None = None
        self.best_of: dict[tuple[int, ...], Found] = {}
        self.asked = 0
        self.ceiling = np.inf
        self._keeping = keeping
        self._kept: list[FloatArray] = []

    @property
    def limit(self) -> float:
        """What a candidate has to cost less than to be of any use."""
        return self.ceiling if self._keeping else self.value

    @property
    def value(self) -> float:
        """The value of the best; infinite while there is none."""
        return np.inf if self.best is None else self.best.value

    @property
    def left(self) -> float:
        """Candidates that may still be asked; infinite where there is no end."""
        problem = self._problem
        ends = (
            None if self._allowance is None else self._allowance - self.asked,
            problem.evaluations_left if self._by_value else problem.queries_left,
        )
        return min((end for end in ends if end is not None), default=np.inf)

    def allow(self, more: int | None) -> None:
        """Let so many more candidates be asked; None: as many as the problem's budget allows."""
        self._allowance = None if more is None else self.asked + more

    def take_kept(self) -> FloatArray:
        """Return the rows of the target class that were met since the last time, shape (n, d)."""
        kept, self._kept = self._kept, []
        return np.concatenate(kept) if kept else np.empty((0, self.terrain.d))

    def ask(self, Z: FloatArray) -> FloatArray:
        """Return the values of the rows of `Z`, shape (n, d); infinite where a row is not of the target class.

        Implausible rows are not asked.

        Raises
        ------
        BudgetExhausted
            If not all rows may be asked. As many as may be are asked and remembered first.
        """
        values = np.full(len(Z), np.inf)
        plausible = np.flatnonzero(self._problem.is_plausible(Z))
        left = self.left
        within = plausible if left >= len(plausible) else plausible[: max(int(left), 0)]
        if len(within):
            self.asked += len(within)
            values[within] = self._answers(Z[within])
            self._remember(Z, values)
        if len(within) < len(plausible):
            raise BudgetExhausted(f"{len(plausible)} rows were to be asked, and {len(within)} were left")
        return values

    def cost(self, Z: FloatArray) -> FloatArray:
        """The cost of each row, shape (n,); asks nothing."""
        return self.terrain.cost(Z)

    def promising(self) -> list[Found]:
        """The best of each set whose bound is below the best value, the best first."""
        terrain, value = self.terrain, self.limit
        found = [found for key, found in self.best_of.items() if terrain.bound(key) < value - BETTER]
        return sorted(found, key=lambda each: each.value)

    def _answers(self, Z: FloatArray) -> FloatArray:
        problem = self._problem
        if self._by_value:
            values, classes = problem.evaluate(Z)
            return np.where(classes == problem.target, values, np.inf)
        values = np.full(len(Z), np.inf)
        hits = problem.predict(Z) == problem.target
        values[hits] = self.terrain.cost(Z[hits])
        return values

    def _remember(self, Z: FloatArray, values: FloatArray) -> None:
        hits = np.flatnonzero(np.isfinite(values))
        if len(hits) == 0:
            return
        if self._keeping:
            self._kept.append(Z[hits])
        for k in hits[np.argsort(values[hits], kind="stable")][:REMEMBERED]:
            found = Found(float(values[k]), Z[k].copy())
            key = tuple(self.terrain.changed(found.z))
            if key not in self.best_of or found.value < self.best_of[key].value:
                self.best_of[key] = found
            if found.value < self.value - BETTER:
                self.best = found
