"""Branch and bound over which features change, and by which option."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from typing import NamedTuple

import numpy as np

from cfbench import Problem
from cfbench.linear import LinearStructure
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.exact import report_none_exists, report_result
from cfbench_searchers.exact_linear.options import Options, options_of
from cfbench_searchers.exact_linear.relaxation import STAYS, UNDECIDED, relax

TOLERANCE = 1e-9
"""An optimum is proven if no counterfactual is cheaper by more than this: a row just past a tie costs a little more."""

_WHOLE = 1e-9
"""A weight is a whole number if it is not further than this from one."""


class Part(NamedTuple):
    """What is decided in a part of the search, as `relax` takes it, each of shape (d,)."""

    choice: IntArray
    low: FloatArray
    high: FloatArray

    def with_choice(self, f: int, option: int) -> Part:
        """Return the part in which a feature has an option, or stays."""
        choice = self.choice.copy()
        choice[f] = option
        return Part(choice, self.low, self.high)

    def with_way(self, f: int, low: float, high: float) -> Part:
        """Return the part in which a feature goes a part of the way of its option."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[f], highs[f] = low, high
        return Part(self.choice, lows, highs)


@dataclass(eq=False)
class LinearSearch:
    """One search on a linear model.

    The part with the lowest bound is looked at first. A part's bound allows for rounding: it is the cost of gaining a
    little less than what the lead needs. A row that is returned gains a little more, so that the library's own sums
    give the class, too; where both are the same row, the model is queried.

    References
    ----------
    Land and Doig, "An automatic method of solving discrete programming problems", Econometrica 28(3), 1960. Ustun,
    Spangher and Liu, "Actionable recourse in linear classification", FAT* 2019, solve the problem with two classes by a
    mixed-integer model.
    """

    structure: LinearStructure
    problem: Problem
    place: int
    end: float
    best: FloatArray | None = field(default=None, init=False)
    best_cost: float = field(default=np.inf, init=False)
    lower_bound: float = field(default=np.inf, init=False)
    boxes: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        structure, space = self.structure, self.problem.space
        self.options: Options = options_of(structure, self.problem, self.place)
        largest = np.maximum(np.abs(space.lower), np.abs(space.upper))
        self.rounding = structure.rounding(np.maximum(largest, np.abs(self.problem.x)))
        scores = structure.scores(self.problem.x[np.newaxis])[0]
        self.need: FloatArray = np.delete(scores, self.place) - scores[self.place]
        self.owner = np.repeat(np.arange(space.d), np.diff(self.options.first))

    def run(self) -> bool:
        """Search until the proof is there; return False if time was up before."""
        d, numbers = self.problem.space.d, count()
        counts = np.diff(self.options.first)
        choice = np.where((counts == 0) & self.options.may_stay, STAYS, UNDECIDED).astype(np.int64)
        if not self.options.may_stay[counts == 0].all():
            return True
        waiting = [(0.0, next(numbers), Part(choice, np.zeros(d), np.ones(d)))]
        while waiting:
            bound, _, part = heapq.heappop(waiting)
            if bound >= self.best_cost - TOLERANCE:
                self._keep_bound(bound)
                return True
            if time.perf_counter() > self.end:
                self._keep_bound(bound)
                return False
            for needed, smaller in self._look_at(part):
                bound_here = max(bound, needed)
                if np.isfinite(bound_here):
                    heapq.heappush(waiting, (bound_here, next(numbers), smaller))
        return True

    def _keep_bound(self, bound: float) -> None:
        self.lower_bound = min(self.lower_bound, bound)

    def _look_at(self, part: Part) -> list[tuple[float, Part]]:
        """Bound a part; return the parts it is cut into with their bound, none if nothing is left to look for."""
        self.boxes += 1
        bound, used = relax(self.options, *part, self.need - self.rounding)
        if bound >= self.best_cost - TOLERANCE:
            self._keep_bound(bound)
            return []
        undecided = self._undecided(part, used)
        if undecided is not None:
            if undecided >= 0:
                self._round(part, used)
            f = self._forced(part) if undecided < 0 else undecided
            first, stop = self.options.first[f], self.options.first[f + 1]
            wanted = [*range(first, stop), *([STAYS] if self.options.may_stay[f] else [])]
            return [(bound, part.with_choice(f, option)) for option in wanted]
        return self._close(part, used, bound)

    def _forced(self, part: Part) -> int:
        """Return a feature that is undecided and has to change."""
        return int(np.flatnonzero((part.choice == UNDECIDED) & ~self.options.may_stay)[0])

    def _undecided(self, part: Part, used: FloatArray) -> int | None:
        """Return the feature to decide next: one that the relaxation uses in part; -1 for one that has to change."""
        if ((part.choice == UNDECIDED) & ~self.options.may_stay).any():
            return -1
        open_ = part.choice[self.owner] == UNDECIDED
        weight = np.where(open_[:, np.newaxis], used, 0.0)
        apart = np.abs(weight - np.round(weight)).sum(axis=1)
        by_feature = np.bincount(self.owner, apart, minlength=len(part.choice))
        several = np.bincount(self.owner, (weight > _WHOLE).sum(axis=1), minlength=len(part.choice)) > 1
        by_feature += several
        f = int(np.argmax(by_feature)) if len(by_feature) else 0
        return f if by_feature[f] > _WHOLE else None

    def _decided(self, part: Part, used: FloatArray) -> Part:
        """Decide all features as the relaxation has them: those that it uses change by the option used most."""
        choice = np.where(part.choice == UNDECIDED, STAYS, part.choice)
        weight = used.sum(axis=1)
        for j in np.flatnonzero(weight > _WHOLE):
            f = self.owner[j]
            if part.choice[f] == UNDECIDED and (choice[f] == STAYS or weight[j] > weight[choice[f]]):
                choice[f] = j
        return Part(choice, part.low, part.high)

    def _round(self, part: Part, used: FloatArray) -> None:
        """Look for a good row near a solution of the relaxation."""
        decided = self._decided(part, used)
        bound, shares = relax(self.options, *decided, self.need + 2 * self.rounding)
        if bound < self.best_cost:
            self._offer(self._row(decided, shares, up=True))

    def _close(self, part: Part, used: FloatArray, bound: float) -> list[tuple[float, Part]]:
        """Settle a part whose relaxation decides all features; cut it where an amount is between two steps."""
        decided = self._decided(part, used)
        _, relaxed = relax(self.options, *decided, self.need - self.rounding)
        between = self._between(decided, relaxed)
        safe, shares = relax(self.options, *decided, self.need + 2 * self.rounding)
        if np.isfinite(safe):
            self._offer(self._row(decided, shares, up=True))
        if self.best_cost <= bound + TOLERANCE:
            self._keep_bound(bound)
            return []
        if between is not None:
            f, share = between
            spacing = self.options.spacing[decided.choice[f]]
            below = np.floor(share / spacing + _WHOLE) * spacing
            kept = part.with_choice(f, decided.choice[f])
            halves = [kept.with_way(f, part.low[f], below), kept.with_way(f, below + spacing, part.high[f])]
            rest = self._others(part, f, int(decided.choice[f]))
            return [(bound, half) for half in halves if half.low[f] <= half.high[f] + _WHOLE] + rest
        row = self._row(decided, relaxed, up=False)
        if self.problem.is_feasible(row[np.newaxis])[0] and self.problem.predict(row[np.newaxis])[0] == self.target:
            self._keep(row)
            self._keep_bound(min(bound, self.best_cost))
            return []
        return self._without(part, decided, relaxed, bound)

    def _without(self, part: Part, decided: Part, relaxed: FloatArray, bound: float) -> list[tuple[float, Part]]:
        """Leave out a row within rounding of a tie that the model gives another class."""
        for f in np.flatnonzero(part.choice == UNDECIDED):
            if self.options.first[f + 1] > self.options.first[f]:
                return [
                    (bound, part.with_choice(int(f), int(decided.choice[f]))),
                    *self._others(part, int(f), int(decided.choice[f])),
                ]
        for f in np.flatnonzero(decided.choice >= 0):
            spacing = self.options.spacing[decided.choice[f]]
            if spacing and part.high[f] - part.low[f] > _WHOLE:
                at = self._share(decided, relaxed, int(f))
                spans = [(part.low[f], at - spacing), (at, at), (at + spacing, part.high[f])]
                return [(bound, part.with_way(int(f), a, b)) for a, b in spans if a <= b + _WHOLE]
        # What is left is one row, or rows of a continuum of which none has the class for certain.
        return []

    def _others(self, part: Part, f: int, option: int) -> list[tuple[float, Part]]:
        """Return the parts in which an undecided feature has another option, or stays."""
        if part.choice[f] != UNDECIDED:
            return []
        every = [*range(self.options.first[f], self.options.first[f + 1])]
        every += [STAYS] if self.options.may_stay[f] else []
        return [(0.0, part.with_choice(f, other)) for other in every if other != option]

    def _share(self, decided: Part, used: FloatArray, f: int) -> float:
        """Return the share of the way that a decided feature goes."""
        width = decided.high[f] - decided.low[f]
        return float(decided.low[f] + width * used[decided.choice[f], 1])

    def _between(self, decided: Part, used: FloatArray) -> tuple[int, float] | None:
        """Return a feature whose amount is between two steps, and that amount."""
        for f in np.flatnonzero(decided.choice >= 0):
            spacing = self.options.spacing[decided.choice[f]]
            if spacing:
                steps = self._share(decided, used, int(f)) / spacing
                if abs(steps - round(steps)) > 1e-7:
                    return int(f), steps * spacing
        return None

    def _row(self, decided: Part, used: FloatArray, *, up: bool) -> FloatArray:
        """Return the row of decided features; amounts between two steps go up to the next one, or to the nearest."""
        z = self.problem.x.copy()
        for f in np.flatnonzero(decided.choice >= 0):
            j, share = decided.choice[f], self._share(decided, used, int(f))
            start, end, spacing = self.options.start[j], self.options.end[j], self.options.spacing[j]
            if spacing:
                steps = share / spacing
                share = min((np.ceil(steps - 1e-7) if up else np.round(steps)) * spacing, 1.0)
            value = end if share >= 1.0 else start + share * (end - start)
            if spacing and share < 1.0:
                unit = float(self.problem.box.spacing[f])
                value = np.rint(value / unit) * unit + 0.0
            z[f] = min(max(value, min(start, end)), max(start, end))
        return z

    @property
    def target(self) -> int:
        """The class wanted."""
        return self.problem.target

    def _offer(self, row: FloatArray) -> None:
        """Keep a row that is better than the best, if its class is certain."""
        scores = self.structure.scores(row[np.newaxis])[0]
        lead = scores[self.place] - np.delete(scores, self.place).max()
        if lead > self.rounding and self.problem.is_feasible(row[np.newaxis])[0]:
            self._keep(row)

    def _keep(self, row: FloatArray) -> None:
        cost = float(self.problem.distance(row[np.newaxis])[0])
        term = self.problem.separable_term
        if term is not None:
            cost += float(term.parts(row[np.newaxis]).sum())
        if cost < self.best_cost:
            self.best, self.best_cost = row, cost


def solve(problem: Problem, end: float) -> FloatArray | None:
    """Find the optimum and prove it, or stop when time is up; report the figures.

    If there is proven to be no counterfactual, the problem is given the reason.

    Parameters
    ----------
    problem : Problem
    end : float
        When time is up, by ``time.perf_counter``.

    Returns
    -------
    ndarray of float64, shape (d,), or None
        The cheapest point found.
    """
    structure = problem.linear
    place = structure.place_of(problem.target)
    if place is None:
        report_none_exists(problem, "the model never predicts the class")
        return None
    search = LinearSearch(structure, problem, place, end)
    finished = search.run()
    lower = min(search.lower_bound, search.best_cost)
    proven = finished and (search.best is None or search.best_cost - lower <= 2 * TOLERANCE)
    report_result(problem, proven=proven, lower_bound=lower, boxes=search.boxes)
    return search.best


@cache
def warm_up() -> None:
    """Call the kernel once."""
    one, flat = np.zeros(1), np.zeros((1, 1))
    options = Options(
        first=np.array([0, 1]),
        may_stay=np.ones(1, dtype=bool),
        start=one,
        end=one + 1,
        gain=flat,
        gain_span=flat + 1,
        cost=one + 0.5,
        cost_span=one + 0.5,
        begins_at_x=np.ones(1, dtype=bool),
        spacing=one,
    )
    bound, _ = relax(options, np.array([UNDECIDED]), one, one + 1, one + 0.5)
    assert abs(bound - 0.5) < 1e-12  # half of the way at the price of the whole: 1
