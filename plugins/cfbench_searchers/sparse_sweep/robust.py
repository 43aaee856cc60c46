"""The step *robust*: where values rest on draws, candidates are judged by rising numbers of them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from cfbench import BudgetExhausted, FloatArray, IntArray, Problem
from cfbench_searchers.sparse_sweep.inquiry import Inquiry
from cfbench_searchers.sparse_sweep.pattern import moves, retreats
from cfbench_searchers.sparse_sweep.pool import chosen
from cfbench_searchers.sparse_sweep.race import Race

AT_ONCE = 16
"""Candidates that are judged before the ceiling is looked at again."""

CONTENDERS = 64
"""Candidates that are compared before any is carried on."""

LEADERS, SURE = 3, 4
"""The first few have to be judged so often before one of them is believed to be the best."""

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


class Jury:
    """Judges the candidates that a search by class comes by, and carries the best of them on.

    Parameters
    ----------
    problem : Problem
    inquiry : Inquiry
        The search by class. It keeps what it meets; its ceiling is what the best was judged.
    allowance : int or None
        Evaluations; None: as many as the problem's budget allows.

    Notes
    -----
    A value that is the least of many noisy ones is too good to be true. So whatever is chosen by its value is judged
    again, with new draws, before anything is built on it; and what is chosen in the end was judged most often.
    """

    def __init__(self, problem: Problem, inquiry: Inquiry, allowance: int | None) -> None:
        self._problem = problem
        self._inquiry = inquiry
        self._race = Race(problem, allowance)
        self._allowance = self._race.left

    @property
    def best(self) -> FloatArray | None:
        """The candidate with the smallest mean among those that were judged most often; None if none was judged."""
        order = self._order()
        if len(order) == 0:
            return None
        often = self._race.times[order]
        z: FloatArray = self._race.Z[order[often >= often.max() / 4][0]]
        return z

    def hear(self) -> None:
        """Judge a choice of what was met since the last time, and lower the ceiling."""
        inquiry, race = self._inquiry, self._race
        if race.left < POLISHING * self._allowance:
            return
        places = race.enter(chosen(inquiry, inquiry.take_kept()))
        for first in range(0, len(places), AT_ONCE):
            some = places[first : first + AT_ONCE]
            some = some[race.cost[some] < inquiry.ceiling]
            if len(some) == 0:
                return
            race.judge(some, 1)
            while (race.times[leaders := self._order()[:LEADERS]] < SURE).any():
                race.judge(leaders, SURE)
            inquiry.ceiling = min(inquiry.ceiling, float(race.means[leaders[0]]))

    def conclude(self) -> None:
        """Carry the best of several sets on, then spend what is left on telling the finalists apart."""
        with suppress(BudgetExhausted):
            self.hear()
            self._race.halve(self._order()[:CONTENDERS], 2, 16)
            self._polish_sets()
            self._settle()

    def _order(self) -> IntArray:
        return self._race.ranked(np.flatnonzero(self._race.times > 0))

    def _polish_sets(self) -> None:
        race, terrain = self._race, self._inquiry.terrain
        order = self._order()
        seen: set[tuple[int, ...]] = set()
        for place in order[race.times[order] >= SURE]:
            key = tuple(terrain.changed(race.Z[place]))
            if key not in seen:
                seen.add(key)
                self._polish(int(place))
            if race.left < SETTLING * self._allowance:
                return

    def _polish(self, at: int) -> None:
        """Move a candidate to wherever it is judged better, in ever smaller steps (a pattern search)."""
        race, inquiry = self._race, self._inquiry
        race.judge(np.array([at]), 16)
        step, is_first = FIRST_STEP, True
        enough = race.left - LONGEST * self._allowance
        while step > LAST_STEP and race.left > enough:
            new = self._entered(moves(inquiry, race.Z[at], step, everything=is_first), float(race.means[at]))
            new = race.judge(race.judge(new, 1)[:6], 4)
            new = race.judge(new[:2], 16)
            race.judge(np.array([at]), min(int(race.times[at]) + 4, 64))
            if len(new) and race.means[new[0]] < race.means[at] - GAIN:
                at = int(new[0])
            else:
                step, is_first = step / 2, False

    def _settle(self) -> None:
        race = self._race
        order = self._order()
        order = order[race.times[order] >= SURE]
        if len(order) == 0:
            return
        # What the draws cannot tell apart, the cost can: the same a little nearer to x may be judged as well.
        nearer = [retreats(self._inquiry, race.Z[place]) for place in order[:4]]
        finalists = np.concatenate([order[:16], self._entered(np.concatenate(nearer), np.inf)])
        for times, kept in ((SURE, 24), (16, 12), (32, 6), (64, 4)):
            finalists = race.judge(finalists, times)[:kept]
        race.judge(finalists, min(int(race.times[finalists].min()) + int(race.left // len(finalists)), MOST_OFTEN))

    def _entered(self, Z: FloatArray, value: float) -> IntArray:
        """Enter the rows of the target class that cost less than `value`; return their places."""
        Z = np.unique(Z, axis=0)
        Z = Z[self._inquiry.cost(Z) < value]
        return self._race.enter(Z[np.isfinite(self._inquiry.ask(Z))])
