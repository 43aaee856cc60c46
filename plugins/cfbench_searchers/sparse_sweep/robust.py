"""The step *robust*: if values depend on draws, candidates are judged with increasing numbers of draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations

import numpy as np

from cfbench import BudgetExhausted, Problem
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.candidates import QueriedCandidates

SETS = 80
"""Sets of changed features, those with the cheapest candidates first."""

CHEAPEST, SPREAD = 3, 6
"""Per set: how many of the cheapest, and how many spread evenly over the rest."""

OVER_ALL = 50
"""The cheapest of all sets together."""

MOST = 200
"""Candidates in all."""


def chosen(queried: QueriedCandidates, Z: FloatArray) -> FloatArray:
    """Return a choice of rows, shape (n, d), from cheap to expensive, all below the ceiling.

    The cheapest rows of a set lie on the boundary of the target class, where a perturbation may lose it. More
    expensive rows are deeper inside.
    """
    Z = np.unique(Z, axis=0)
    cost = queried.cost(Z)
    order = np.argsort(cost, kind="stable")
    order = order[cost[order] < queried.ceiling]
    members: dict[bytes, list[int]] = {}
    for place, row in enumerate(Z[order] != queried.grid.home):
        members.setdefault(row.tobytes(), []).append(place)
    places = set(range(min(len(order), OVER_ALL)))
    for own in list(members.values())[:SETS]:  # in the order of their cheapest
        even = np.linspace(0, len(own) - 1, min(len(own), SPREAD)).astype(np.int64)
        places.update(own[:CHEAPEST], (own[k] for k in even))
    return Z[order[sorted(places)[:MOST]]]


SHARES = (-1.0, -0.3, 0.3, 1.0)
"""Of a step, in either direction."""

N_LEVELS = 7
"""Values tried anywhere."""

RETREATS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Shares of the way back to `x`."""


def moves(queried: QueriedCandidates, z: FloatArray, step: float, *, everything: bool) -> FloatArray:
    """Return rows around `z`, shape (n, d).

    Each changed numerical feature moves by up to a step, and each pair of them a step apart, one outwards, the other
    back.

    Parameters
    ----------
    queried : QueriedCandidates
    z : ndarray of float64, shape (d,)
    step : float
        As a share of a feature's range.
    everything : bool
        Whether each changed feature is put back, too, and every feature tried at several values anywhere. A kept
        feature may be perturbed, a changed one may not: to change it can be worth its cost.
    """
    grid = queried.grid
    changed = grid.changed(z)
    numbers = [i for i in changed if grid.is_numerical[i]]
    steps = step * grid.ranges
    away = np.sign(z - grid.home)
    rows = [_with(z, i, z[i] + share * steps[i]) for i in numbers for share in SHARES]
    for a, b in permutations(numbers, 2):
        back = min(steps[b], abs(z[b] - grid.home[b]))
        rows.append(_with(_with(z, a, z[a] + away[a] * steps[a]), b, z[b] - away[b] * back))
    if everything:
        rows += [_with(z, i, float(grid.home[i])) for i in changed]
        rows += _anywhere(queried, z, [int(i) for i in grid.free])
    return _others(queried, z, rows)


def retreats(queried: QueriedCandidates, z: FloatArray) -> FloatArray:
    """Return `z` with one numerical feature moved back towards `x`, by several shares of its way; shape (n, d)."""
    grid = queried.grid
    numbers = [i for i in grid.changed(z) if grid.is_numerical[i]]
    rows = [_with(z, i, z[i] + share * (grid.home[i] - z[i])) for i in numbers for share in RETREATS]
    return _others(queried, z, rows)


def _anywhere(queried: QueriedCandidates, z: FloatArray, features: list[int]) -> Iterator[FloatArray]:
    grid = queried.grid
    for i in features:
        for value in grid.levels[i][grid.some_levels(i, N_LEVELS)]:
            yield _with(z, i, float(value))


def _with(z: FloatArray, i: int, value: float) -> FloatArray:
    row = z.copy()
    row[i] = value
    return row


def _others(queried: QueriedCandidates, z: FloatArray, rows: list[FloatArray]) -> FloatArray:
    """Return the feasible rows nearest to these, without `z` itself."""
    if not rows:
        return np.empty((0, len(z)))
    Z = queried.grid.inside(np.array(rows))
    others: FloatArray = Z[(Z != z).any(axis=1)]
    return others


class MeanValues:
    """Candidates of the target class, and the mean of what each was ever judged.

    One evaluation is an estimate from the objective's own number of draws; its mean over several rests on as many times
    the draws, since no two evaluations share any.

    Parameters
    ----------
    problem : Problem
    allowance : int or None
        Evaluations that may be spent; None: as many as the problem's budget allows.

    Attributes
    ----------
    Z : ndarray of float64, shape (n, d)
    cost : ndarray of float64, shape (n,)
        Known without any evaluation, and never more than the value.
    times : ndarray of int64, shape (n,)
        Evaluations of each.
    """

    def __init__(self, problem: Problem, allowance: int | None) -> None:
        self._problem = problem
        self._allowance = np.inf if allowance is None else allowance
        self.Z = np.empty((0, problem.space.d))
        self.cost = np.empty(0)
        self.times = np.empty(0, dtype=np.int64)
        self._sums = np.empty(0)

    @property
    def left(self) -> float:
        """Evaluations that may still be spent."""
        left = self._problem.evaluations_left
        return self._allowance if left is None else min(self._allowance, left)

    @property
    def means(self) -> FloatArray:
        """The mean value of each candidate, shape (n,); infinite where there is none."""
        added = self._sums / np.maximum(self.times, 1)
        return np.where(self.times > 0, self.cost + added, np.inf)

    def enter(self, Z: FloatArray) -> IntArray:
        """Let rows take part, shape (n, d); return their places."""
        n = len(Z)
        self.Z = np.concatenate([self.Z, Z])
        self.cost = np.concatenate([self.cost, self._problem.distance(Z)])
        self.times = np.concatenate([self.times, np.zeros(n, dtype=np.int64)])
        self._sums = np.concatenate([self._sums, np.zeros(n)])
        return np.arange(len(self.Z) - n, len(self.Z))

    def judge(self, places: IntArray, times: int) -> IntArray:
        """Evaluate candidates until each was judged so often; return their places, the best first.

        Raises
        ------
        BudgetExhausted
            If the allowance does not reach for all of it; none is evaluated then.
        """
        rows = np.repeat(places, np.maximum(times - self.times[places], 0))
        if len(rows) > self.left:
            raise BudgetExhausted(f"{len(rows)} evaluations were to be spent, and {self.left} are left")
        if len(rows):
            values, _ = self._problem.evaluate(self.Z[rows])
            self._allowance -= len(rows)
            np.add.at(self._sums, rows, values - self.cost[rows])
            np.add.at(self.times, rows, 1)
        return self.ranked(places)

    def ranked(self, places: IntArray) -> IntArray:
        """Return places in the order of the means."""
        return places[np.argsort(self.means[places], kind="stable")]

    def halve(self, places: IntArray, times: int, most: int) -> IntArray:
        """Judge ever fewer candidates ever more often; return the order in the end, the best first.

        Parameters
        ----------
        places : ndarray of int64
        times : int
            Evaluations in the first round; the number doubles while that of the candidates halves.
        most : int
            Evaluations in the last round.
        """
        while True:
            places = self.judge(places, times)
            if times >= most:
                return places
            times = min(2 * times, most)
            places = places[: max(2, len(places) // 2)]


AT_ONCE = 16
"""Candidates that are judged before the ceiling is looked at again."""

CONTENDERS = 64
"""Candidates that are compared before any is carried on."""

LEADERS, SURE = 3, 4
"""Evaluations of the first few candidates before one of them counts as the best."""

FIRST_STEP, LAST_STEP = 0.15, 0.002
"""Lengths of moves, as shares of a feature's range."""

POLISHING, SETTLING = 0.75, 0.5
"""Shares of the evaluations that hearing leaves, and that polishing leaves: for telling the best from what only looked
the best."""

GAIN = 1e-5
"""By which a move has to be judged better."""

MOST_OFTEN = 2048
"""Evaluations of a finalist, at most."""

LONGEST = 0.12
"""Share of the evaluations that one set may be polished with."""


class RobustRanking:
    """Judges the candidates that a search by class comes by, and carries the best of them on.

    Parameters
    ----------
    problem : Problem
    queried : QueriedCandidates
        The search by class. It keeps what it meets; its ceiling is what the best was judged.
    allowance : int or None
        Evaluations; None: as many as the problem's budget allows.

    Notes
    -----
    A value that is the least of many noisy ones is too good to be true. So whatever is chosen by its value is judged
    again, with new draws, before anything is built on it; and what is chosen in the end was judged most often.
    """

    def __init__(self, problem: Problem, queried: QueriedCandidates, allowance: int | None) -> None:
        self._problem = problem
        self._queried = queried
        self._means = MeanValues(problem, allowance)
        self._allowance = self._means.left

    @property
    def best(self) -> FloatArray | None:
        """The candidate with the smallest mean among those that were judged most often; None if none was judged."""
        order = self._order()
        if len(order) == 0:
            return None
        often = self._means.times[order]
        z: FloatArray = self._means.Z[order[often >= often.max() / 4][0]]
        return z

    def hear(self) -> None:
        """Judge a choice of what was met since the last time, and lower the ceiling."""
        queried, means = self._queried, self._means
        if means.left < POLISHING * self._allowance:
            return
        places = means.enter(chosen(queried, queried.take_kept()))
        for first in range(0, len(places), AT_ONCE):
            some = places[first : first + AT_ONCE]
            some = some[means.cost[some] < queried.ceiling]
            if len(some) == 0:
                return
            means.judge(some, 1)
            while (means.times[leaders := self._order()[:LEADERS]] < SURE).any():
                means.judge(leaders, SURE)
            queried.ceiling = min(queried.ceiling, float(means.means[leaders[0]]))

    def conclude(self) -> None:
        """Carry the best of several sets on, then spend what is left on telling the finalists apart."""
        with suppress(BudgetExhausted):
            self.hear()
            self._means.halve(self._order()[:CONTENDERS], 2, 16)
            self._polish_sets()
            self._settle()

    def _order(self) -> IntArray:
        return self._means.ranked(np.flatnonzero(self._means.times > 0))

    def _polish_sets(self) -> None:
        means, grid = self._means, self._queried.grid
        order = self._order()
        seen: set[tuple[int, ...]] = set()
        for place in order[means.times[order] >= SURE]:
            key = tuple(grid.changed(means.Z[place]))
            if key not in seen:
                seen.add(key)
                self._polish(int(place))
            if means.left < SETTLING * self._allowance:
                return

    def _polish(self, at: int) -> None:
        """Move a candidate to wherever it is judged better, in ever smaller steps (a pattern search)."""
        means, queried = self._means, self._queried
        means.judge(np.array([at]), 16)
        step, is_first = FIRST_STEP, True
        enough = means.left - LONGEST * self._allowance
        while step > LAST_STEP and means.left > enough:
            new = self._entered(moves(queried, means.Z[at], step, everything=is_first), float(means.means[at]))
            new = means.judge(means.judge(new, 1)[:6], 4)
            new = means.judge(new[:2], 16)
            means.judge(np.array([at]), min(int(means.times[at]) + 4, 64))
            if len(new) and means.means[new[0]] < means.means[at] - GAIN:
                at = int(new[0])
            else:
                step, is_first = step / 2, False

    def _settle(self) -> None:
        means = self._means
        order = self._order()
        order = order[means.times[order] >= SURE]
        if len(order) == 0:
            return
        # The cost separates candidates that the draws judge equal: the same a little nearer to x may be judged as well.
        nearer = [retreats(self._queried, means.Z[place]) for place in order[:4]]
        finalists = np.concatenate([order[:16], self._entered(np.concatenate(nearer), np.inf)])
        for times, kept in ((SURE, 24), (16, 12), (32, 6), (64, 4)):
            finalists = means.judge(finalists, times)[:kept]
        means.judge(finalists, min(int(means.times[finalists].min()) + int(means.left // len(finalists)), MOST_OFTEN))

    def _entered(self, Z: FloatArray, value: float) -> IntArray:
        """Enter the rows of the target class that cost less than `value`; return their places."""
        Z = np.unique(Z, axis=0)
        Z = Z[self._queried.cost(Z) < value]
        return self._means.enter(Z[np.isfinite(self._queried.ask(Z))])
