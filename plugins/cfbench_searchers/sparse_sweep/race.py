"""Judging candidates whose values rest on draws: evaluated again and again, the better ones more often."""

from __future__ import annotations

import numpy as np

from cfbench import BudgetExhausted, FloatArray, IntArray, Problem


class Race:
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
