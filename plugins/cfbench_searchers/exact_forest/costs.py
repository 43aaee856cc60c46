"""What it costs to move each feature into each of its cells, and the value that costs least there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfbench import FloatArray, ForestStructure, IntArray, Problem, SeparableTerm

_ROUNDING = 4 * np.finfo(np.float64).eps
"""Relative error of a division by a step: 0.3 / 0.1 is not 3."""


class CellCosts(NamedTuple):
    """The costs of all cells, features one after the other: ``first[f] + cell``.

    Parameters
    ----------
    first : ndarray of int64, shape (d + 1,)
    cost : ndarray of float64, shape (cells,)
        Share of the objective that the cheapest plausible value of a cell has; infinite where a cell has none. The
        objective is the sum of these over the features.
    value : ndarray of float64, shape (cells,)
        That value; NaN where there is none.
    rest : ndarray of int64, shape (d,)
        The cheapest cell of each feature: that of `x`, unless `x` is no plausible value there.
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
    (:meth:`cfbench.FeatureSpace.cost`) and a concave one (:class:`cfbench.SeparableTerm`), so its minimum over a cell
    lies at an end of the piece or of the cell: only these are looked at.
    """
    term = problem.separable_term
    first = structure.first_cell
    cost, value = np.full(first[-1], np.inf), np.full(first[-1], np.nan)
    for i in range(structure.d):
        values, cells = _candidates(structure, problem, i, term)
        costs = _costs(problem, i, values, term)
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
    rows = np.tile(problem.x, (len(values), 1))
    rows[:, i] = values
    return values, structure.cells(rows)[:, i]


def _on_grid(values: FloatArray, step: float, x: float) -> FloatArray:
    """Return the multiples of a step around each value; `x` itself, to the bit, where it is one."""
    counts = np.floor(values / step)
    around = np.concatenate([(counts + k) * step for k in (-1.0, 0.0, 1.0, 2.0)])
    count = x / step
    if abs(count - round(count)) <= _ROUNDING * abs(count):
        around = np.append(around[np.abs(around - x) > step / 2], x)
    return np.unique(around + 0.0)


def _costs(problem: Problem, i: int, values: FloatArray, term: SeparableTerm | None) -> FloatArray:
    """Return what values of feature `i` add to the objective, shape (n,): to Eq. 9, and to the objective's term."""
    space, x = problem.space, float(problem.x[i])
    apart = (values != x).astype(np.float64)
    gower = apart if space.is_categorical[i] else np.abs(values - x) / space.ranges[i]
    costs: FloatArray = (0.5 * gower + 0.5 * apart) / space.d
    if term is None:
        return costs
    rows = np.tile(problem.x, (len(values), 1))
    rows[:, i] = values
    return costs + term.parts(rows)[:, i]
