"""The values that a search may try, what moving to each of them costs, and the one way to query the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cfbench import BudgetExhausted, Problem, TrainingFold
from cfbench.space import FloatArray, IntArray

FINEST = 1e-7
"""Share of a feature's range below which values count as equal: in a loss it is the tenth digit."""


class CandidateGrid:
    """The candidates around one factual point.

    The cost of a candidate is a sum over its changed features: its distance from `x`, and the objective's term where
    that is such a sum, too. It is measured one feature changed at a time, and makes no query.

    Parameters
    ----------
    problem : Problem
    training : TrainingFold or None
        Whose values are tried; without it, a grid over each interval.
    n_levels : int
        Maximum number of values per numerical feature, without midpoints.

    Attributes
    ----------
    home : ndarray of float64, shape (d,)
        Where every candidate starts from: the feasible point nearest to `x`; `x` itself unless it is off a step.
    base : float
        The cost of `home`; 0 where it is `x`.
    lower, upper : ndarray of float64, shape (d,)
        The outermost feasible values.
    ranges : ndarray of float64, shape (d,)
        Of the annotated intervals.
    is_numerical : ndarray of bool, shape (d,)
    levels : list of ndarray
        The values of each feature to try, ascending, without that of `home`.
    costs : list of ndarray
        What each of them adds to `base`.
    free : ndarray of int64, shape (k,)
        The features that have any level.
    least : ndarray of float64, shape (d,)
        What changing a feature costs at least, however small the change; infinite where it cannot change.
    slope : ndarray of float64, shape (d,)
        What a numerical feature's move costs beyond that at least, for a unit of its value.
    """

    def __init__(self, problem: Problem, training: TrainingFold | None, n_levels: int) -> None:
        self._problem = problem
        self._box = problem.box
        self.lower, self.upper = self._box.lower, self._box.upper
        self.home = problem.home
        self._term = problem.separable_term
        self.base = float(self.cost(self.home[np.newaxis])[0])
        self.ranges = problem.space.ranges
        self.is_numerical = ~problem.space.is_categorical
        self._finest = np.maximum(FINEST * (self.upper - self.lower), np.spacing(np.abs(self.home)))
        d = len(self.home)
        self.levels = [self._levels_of(i, training, n_levels) for i in range(d)]
        self.costs = [self._costs_of(i, self.levels[i]) for i in range(d)]
        self.free = np.array([i for i in range(d) if len(self.levels[i])], dtype=np.int64)
        self.least = np.full(d, np.inf)
        self.slope = np.zeros(d)
        for i in self.free:
            self._measure(int(i))

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.home)

    def cost(self, Z: FloatArray) -> FloatArray:
        """Lower bound of each row's value before it is queried, shape (n,); exact for the target class or higher."""
        distance = self._problem.distance(Z)
        return distance if self._term is None else distance + self._term.parts(Z).sum(axis=1)

    def rows(self, features: IntArray, values: FloatArray) -> FloatArray:
        """Return `home` with one feature changed in each row, shape (n, d)."""
        Z = np.tile(self.home, (len(features), 1))
        Z[np.arange(len(features)), features] = values
        return Z

    def changed(self, z: FloatArray) -> list[int]:
        """The features in which a row differs from `home`."""
        return [int(i) for i in np.flatnonzero(z != self.home)]

    def bound(self, features: Iterable[int]) -> float:
        """What any candidate costs at least in which all of these features are changed."""
        return self.base + float(self.least[list(features)].sum())

    def cheapest_pair(self) -> float:
        """What any candidate with two or more changed features costs at least."""
        if len(self.free) < 2:
            return np.inf
        return self.base + float(np.sort(self.least[self.free])[:2].sum())

    def some_levels(self, i: int, n: int) -> IntArray:
        """Places of at most `n` levels of a feature, evenly spread; all of them where it is categorical."""
        count = len(self.levels[i])
        if count <= n or not self.is_numerical[i]:
            return np.arange(count)
        return np.unique(np.linspace(0, count - 1, n).astype(np.int64))

    def between(self, i: int, near: float, far: float, n: int) -> FloatArray:
        """At most `n` feasible values strictly between two of a numerical feature, in order from `near`."""
        if abs(far - near) <= self._finest[i]:
            return np.empty(0)
        inner = near + (far - near) * np.arange(1, n + 1) / (n + 1)
        inner = self._box.nearest(inner, np.full(n, i))
        inner = inner[(inner - near) * (far - inner) > 0]
        return inner[np.concatenate(([True], np.diff(inner) != 0))] if len(inner) else inner

    def allowed(self, i: int, values: FloatArray) -> FloatArray:
        """The feasible values of a feature that are nearest to these."""
        nearest: FloatArray = self._box.nearest(values, np.full(len(values), i))
        return nearest

    def inside(self, Z: FloatArray) -> FloatArray:
        """The feasible rows that are nearest to these."""
        return self._problem.repair(Z)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` rows of the box, every feature uniformly on its own."""
        return self._box.sample(n, rng)

    def _levels_of(self, i: int, training: TrainingFold | None, n_levels: int) -> FloatArray:
        lower, upper, home = self.lower[i], self.upper[i], self.home[i]
        if lower > upper:  # a factual value that may not change, and lies off its step
            return np.empty(0)
        if not self.is_numerical[i]:
            values = np.arange(lower, upper + 1)
        elif training is None:
            values = np.linspace(lower, upper, min(n_levels, 100) + 1)
        else:
            seen = np.unique(np.clip(training.X[:, i], lower, upper))
            if len(seen) > n_levels:
                seen = seen[np.linspace(0, len(seen) - 1, n_levels).astype(np.int64)]
            # Trees cut halfway between two values that occur: a value on either side of each cut is among these.
            values = np.concatenate(([lower, upper], seen, (seen[1:] + seen[:-1]) / 2))
        values = np.unique(self.allowed(i, values))
        others: FloatArray = values[values != home]
        return others

    def _costs_of(self, i: int, values: FloatArray) -> FloatArray:
        return self.cost(self.rows(np.full(len(values), i), values)) - self.base

    def _measure(self, i: int) -> None:
        """Find what the smallest change of a feature costs, and how the cost rises from there."""
        if not self.is_numerical[i]:
            self.least[i] = self.costs[i].min()
            return
        home = self.home[i]
        far = float(self.upper[i] if self.upper[i] - home >= home - self.lower[i] else self.lower[i])
        near = float(np.nextafter(home, far))
        at_near, at_far = self._problem.distance(self.rows(np.array([i, i]), np.array([near, far]))) - self.base
        self.least[i] = at_near
        self.slope[i] = (at_far - at_near) / max(abs(far - near), np.finfo(np.float64).tiny)


REMEMBERED = 32
"""Maximum number of remembered rows per batch, the best first."""

BETTER = 1e-12
"""By which a value has to be smaller to be better: less is rounding."""


class ScoredRow(NamedTuple):
    """A feasible row of the target class, and its value."""

    value: float
    z: FloatArray


class QueriedCandidates:
    """Queries candidates and remembers the best, over all and for each set of changed features.

    Parameters
    ----------
    problem : Problem
    grid : CandidateGrid
    allowance : int or None
        Maximum number of candidates; None: as many as the problem's budget allows.
    by_value : bool
        Whether candidates are ranked by the problem's values. Otherwise they are asked for their classes alone and
        ranked by their cost, which is all of the value unless the objective has a term that is no sum over features.
    keeping : bool
        Whether all rows of the target class are kept, for a jury that ranks them otherwise. The cheapest is not the
        best then, and `ceiling` takes its place.

    Attributes
    ----------
    best : ScoredRow or None
    best_of : dict of (tuple of int) to ScoredRow
        The best for each set of changed features.
    asked : int
    ceiling : float
        What the jury gives the best of what was kept.
    """

    def __init__(
        self, problem: Problem, grid: CandidateGrid, allowance: int | None, *, by_value: bool, keeping: bool = False
    ) -> None:
        self._problem = problem
        self.grid = grid
        self._allowance = allowance
        self._by_value = by_value
        self.best: ScoredRow | None = None
        self.best_of: dict[tuple[int, ...], ScoredRow] = {}
        self.asked = 0
        self.ceiling = np.inf
        self._keeping = keeping
        self._kept: list[FloatArray] = []

    @property
    def limit(self) -> float:
        """Upper limit for the cost of a useful candidate."""
        return self.ceiling if self._keeping else self.value

    @property
    def value(self) -> float:
        """The value of the best; infinite while there is none."""
        return np.inf if self.best is None else self.best.value

    @property
    def left(self) -> float:
        """Number of candidates that may still be queried; may be infinite."""
        problem = self._problem
        ends = (
            None if self._allowance is None else self._allowance - self.asked,
            problem.evaluations_left if self._by_value else problem.queries_left,
        )
        return min((end for end in ends if end is not None), default=np.inf)

    def allow(self, more: int | None) -> None:
        """Allow this many more candidates; None: as many as the problem's budget allows."""
        self._allowance = None if more is None else self.asked + more

    def take_kept(self) -> FloatArray:
        """Return the rows of the target class that were met since the last time, shape (n, d)."""
        kept, self._kept = self._kept, []
        return np.concatenate(kept) if kept else np.empty((0, self.grid.d))

    def ask(self, Z: FloatArray) -> FloatArray:
        """Return the values of the rows of `Z`, shape (n, d); infinite where a row is not of the target class.

        Infeasible rows are not queried. If they break a relation between features, the repaired rows are queried and
        remembered in their place, and their own values are infinite.

        Raises
        ------
        BudgetExhausted
            If not all rows may be asked. As many as may be are asked and remembered first.
        """
        values = np.full(len(Z), np.inf)
        feasible = np.flatnonzero(self._problem.is_feasible(Z))
        left = self.left
        within = feasible if left >= len(feasible) else feasible[: max(int(left), 0)]
        if len(within):
            self.asked += len(within)
            values[within] = self._answers(Z[within])
            self._remember(Z, values)
        if self._problem.has_relations:
            self._ask_repaired(np.delete(Z, feasible, axis=0))
        if len(within) < len(feasible):
            raise BudgetExhausted(f"{len(feasible)} rows were to be queried, and {len(within)} were left")
        return values

    def cost(self, Z: FloatArray) -> FloatArray:
        """Return the cost of each row, shape (n,), without a query."""
        return self.grid.cost(Z)

    def promising(self) -> list[ScoredRow]:
        """The best of each set whose bound is below the best value, the best first."""
        grid, value = self.grid, self.limit
        found = [found for key, found in self.best_of.items() if grid.bound(key) < value - BETTER]
        return sorted(found, key=lambda each: each.value)

    def _answers(self, Z: FloatArray) -> FloatArray:
        problem = self._problem
        if self._by_value:
            values, classes = problem.evaluate(Z)
            return np.where(classes == problem.target, values, np.inf)
        values = np.full(len(Z), np.inf)
        hits = problem.predict(Z) == problem.target
        values[hits] = self.grid.cost(Z[hits])
        return values

    def _ask_repaired(self, Z: FloatArray) -> None:
        repaired = np.unique(self._problem.repair(Z), axis=0)
        repaired = repaired[(repaired != self.grid.home).any(axis=1) & (self.cost(repaired) < self.limit)]
        repaired = repaired[np.argsort(self.cost(repaired), kind="stable")]
        repaired = repaired[: int(min(self.left, len(repaired)))]
        if len(repaired):
            self.asked += len(repaired)
            self._remember(repaired, self._answers(repaired))

    def _remember(self, Z: FloatArray, values: FloatArray) -> None:
        hits = np.flatnonzero(np.isfinite(values))
        if len(hits) == 0:
            return
        if self._keeping:
            self._kept.append(Z[hits])
        for k in hits[np.argsort(values[hits], kind="stable")][:REMEMBERED]:
            found = ScoredRow(float(values[k]), Z[k].copy())
            key = tuple(self.grid.changed(found.z))
            if key not in self.best_of or found.value < self.best_of[key].value:
                self.best_of[key] = found
            if found.value < self.value - BETTER:
                self.best = found
