"""One search on a forest: the cost of every cell of every feature, and what all steps work with."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cfbench import Problem
from cfbench.forests import ForestStructure, leads_along, leads_of
from cfbench.problem import SeparableTerm
from cfbench.space import FloatArray, IntArray, are_multiples
from cfbench_searchers.exact import costs_of_values


class CellCosts(NamedTuple):
    """The costs of all cells, features one after the other: ``first[f] + cell``.

    Parameters
    ----------
    first : ndarray of int64, shape (d + 1,)
    cost : ndarray of float64, shape (cells,)
        Share of the objective that the cheapest feasible value of a cell has; infinite where a cell has none. The
        objective is the sum of these over the features.
    value : ndarray of float64, shape (cells,)
        That value; NaN where there is none.
    rest : ndarray of int64, shape (d,)
        The cheapest cell of each feature: that of `x`, unless `x` is no feasible value there.
    from_above, from_below : ndarray of float64, shape (cells,)
        The lower envelope: the least cost of any cell of the feature from this one upwards, and from this one
        downwards. Costs rise with the distance from `x`, as a rule; a setback that is relative to the value to achieve,
        or a step that passes over cells, makes exceptions, and the envelope a valid bound nevertheless.
    other : ndarray of float64, shape (d,)
        The least cost of any cell but `rest`; infinite where there is no other.
    """

    first: IntArray
    cost: FloatArray
    value: FloatArray
    rest: IntArray
    from_above: FloatArray
    from_below: FloatArray
    other: FloatArray

    def of(self, feature: int) -> FloatArray:
        """Return the costs of one feature's cells."""
        return self.cost[self.first[feature] : self.first[feature + 1]]

    def total(self, cells: IntArray) -> float:
        """Return the objective of a point of the target class, given by its cells, shape (d,)."""
        return float(self.cost[self.first[:-1] + cells].sum())

    def point(self, cells: IntArray) -> FloatArray:
        """Return the cheapest point with the given cells, shape (d,)."""
        values: FloatArray = self.value[self.first[:-1] + cells]
        return values


def cell_costs(structure: ForestStructure, problem: Problem) -> CellCosts:
    """Work out the costs of all cells for one factual point.

    A piece of the cost between two neighbouring points of ``{x_i} + breaks`` is concave, being the sum of a linear one
    (:meth:`cfbench.FeatureSpace.cost`) and a concave one (`SeparableTerm`), so its minimum over a cell
    lies at an end of the piece or of the cell: only these are looked at.
    """
    term = problem.separable_term
    first = structure.first_cell
    cost, value = np.full(first[-1], np.inf), np.full(first[-1], np.nan)
    for i in range(structure.d):
        values, cells = _candidates(structure, problem, i, term)
        costs = costs_of_values(problem, i, values, values != problem.x[i], term)
        order = np.lexsort([np.abs(values - problem.x[i]), costs, cells])
        here, place = np.unique(cells[order], return_index=True)
        cost[first[i] + here], value[first[i] + here] = costs[order][place], values[order][place]
    parts = np.split(cost, first[1:-1])
    rest = np.array([np.argmin(part) for part in parts])
    return CellCosts(
        first=first,
        cost=cost,
        value=value,
        rest=rest,
        from_above=np.concatenate([np.minimum.accumulate(part[::-1])[::-1] for part in parts]),
        from_below=np.concatenate([np.minimum.accumulate(part) for part in parts]),
        other=np.array([np.delete(part, at).min(initial=np.inf) for part, at in zip(parts, rest, strict=True)]),
    )


def _candidates(
    structure: ForestStructure, problem: Problem, i: int, term: SeparableTerm | None
) -> tuple[FloatArray, IntArray]:
    """Return the values of feature `i` that may be the cheapest of their cells, with these cells."""
    lower, upper = (float(bound[i]) for bound in problem.bounds())
    feature = problem.space.features[i]
    if feature.n_categories:
        codes = np.arange(feature.n_categories, dtype=np.float64)
        values = codes[(codes >= lower) & (codes <= upper)]
    else:
        ends = structure.boundaries[i]
        lows = np.maximum(np.concatenate([[-np.inf], np.nextafter(ends, np.inf)]), lower)
        highs = np.minimum(np.concatenate([ends, [np.inf]]), upper)
        there = lows <= highs
        lows, highs = lows[there], highs[there]
        breaks = [] if term is None else [float(at) for at in term.breaks[i]]
        inside = [np.clip(at, lows, highs) for at in (float(problem.x[i]), *breaks)]
        values = np.unique(np.concatenate([lows, highs, *inside]))
        if problem.respect_steps and feature.step:
            values = _on_grid(values, feature.step, float(problem.x[i]))
            values = values[(values >= lower) & (values <= upper)]
    return values, structure.cells_of(i, values)


def _on_grid(values: FloatArray, step: float, x: float) -> FloatArray:
    """Return the multiples of a step around each value; `x` itself, to the bit, where it is one."""
    counts = np.floor(values / step)
    around = np.concatenate([(counts + k) * step for k in (-1.0, 0.0, 1.0, 2.0)])
    if are_multiples(np.array([x]), step)[0]:
        around = np.append(around[np.abs(around - x) > step / 2], x)
    return np.unique(around + 0.0)


SLACK = 1e-12
"""A point has to be cheaper than the best one by more than this to count: sums of costs round."""


class OutOfTime(Exception):
    """The time limit came before the proof."""


@dataclass(frozen=True, eq=False)
class CheapestPoint:
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
    best : CheapestPoint or None
        Of what the steps have found until now.
    """

    structure: ForestStructure
    costs: CellCosts
    target: int
    end: float
    best: CheapestPoint | None = field(default=None, init=False)

    @property
    def limit(self) -> float:
        """What a point has to cost less than to be of interest."""
        return np.inf if self.best is None else self.best.cost - SLACK

    def offer(self, found: CheapestPoint | None) -> None:
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

    def cheapest_along(self, cells: IntArray, feature: int, below: float) -> CheapestPoint | None:
        """Return the cheapest point of the target class that differs from `cells` in one feature at most.

        Parameters
        ----------
        cells : ndarray of int64, shape (d,)
        feature : int
        below : float
            More expensive points are ignored: the result is None if there is no cheaper one.
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
                return CheapestPoint(self.costs.total(moved), moved)
        return None
