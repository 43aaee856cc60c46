"""One search on a forest: what all steps work with, and the sweeps along a single feature."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from cfbench import FloatArray, ForestStructure, IntArray, leads_along, leads_of
from cfbench_searchers.exact_forest.costs import CellCosts

SLACK = 1e-12
"""A point has to be cheaper than the best one by more than this to count: sums of costs round."""


class OutOfTime(Exception):
    """The time limit came before the proof."""


@dataclass(frozen=True, eq=False)
class Best:
    """The cheapest point of the target class so far.

    Parameters
    ----------
    cost : float
    cells : ndarray of int64, shape (d,)
    """

    cost: float
    cells: IntArray


@dataclass(eq=False)
class ForestTask:
    """What the steps of one search share.

    Parameters
    ----------
    structure : ForestStructure
    costs : CellCosts
    target : int
        The place of the target among the forest's classes.
    end : float
        When time is up, by ``time.perf_counter``.

    Attributes
    ----------
    best : Best or None
        Of what the steps have found until now.
    """

    structure: ForestStructure
    costs: CellCosts
    target: int
    end: float
    best: Best | None = field(default=None, init=False)

    @property
    def limit(self) -> float:
        """What a point has to cost less than to be of interest."""
        return np.inf if self.best is None else self.best.cost - SLACK

    def offer(self, found: Best | None) -> None:
        """Keep a point of the target class that is cheaper than the best one."""
        if found is not None and found.cost < self.limit:
            self.best = found

    @property
    def d(self) -> int:
        """Number of features."""
        return self.structure.d

    def check_time(self) -> None:
        """Stop when time is up.

        Raises
        ------
        OutOfTime
        """
        if time.perf_counter() > self.end:
            raise OutOfTime

    def is_target(self, cells: IntArray) -> bool:
        """Whether a point has the target class, ties decided as the forest does."""
        code = self.structure.predict_cells(cells[np.newaxis])[0]
        return bool(code == self.structure.classes[self.target])

    def leads(self, cells: IntArray, feature: int) -> FloatArray:
        """Return the target's lead over its strongest rival in every cell of a feature, all others held."""
        n = int(self.structure.n_cells[feature])
        if not self.structure.is_coded[feature]:
            walked, depth = self.structure.walked, self.structure.depth
            along: FloatArray = leads_along(walked, depth, cells, feature, self.target, 0, n - 1)
            return along
        rows = np.tile(cells, (n, 1))
        rows[:, feature] = np.arange(n)
        leads: FloatArray = leads_of(self.structure.walked, rows, self.target)
        return leads

    def cheapest_along(self, cells: IntArray, feature: int, below: float) -> Best | None:
        """Return the cheapest point of the target class that differs from `cells` in one feature at most.

        Parameters
        ----------
        cells : ndarray of int64, shape (d,)
        feature : int
        below : float
            Dearer points are of no interest: None is returned where there is no cheaper one.
        """
        own = self.costs.of(feature)
        costs = self.costs.total(cells) - own[cells[feature]] + own
        wanted = np.flatnonzero(costs < below)
        if len(wanted) == 0:
            return None
        wanted = wanted[self.leads(cells, feature)[wanted] >= -self.structure.rounding]
        for cell in wanted[np.argsort(costs[wanted], kind="stable")]:
            moved = cells.copy()
            moved[feature] = cell
            if self.is_target(moved):
                return Best(self.costs.total(moved), moved)
        return None
