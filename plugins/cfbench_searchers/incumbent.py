"""The best candidate that a search has met, kept beside whatever population it works with."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray, Problem


class Incumbent:
    """Asks for the values of candidates and keeps the best one of the target class.

    A candidate keeps the value that it was first seen with: a noisy objective cannot push it out by a worse draw later,
    and what the search returns is the best of everything that it has asked.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    z : ndarray of float64, shape (d,), or None
        The best candidate of the target class so far.
    value : float
        Its value; infinite while there is none.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.z: FloatArray | None = None
        self.value = np.inf

    def ask(self, Z: FloatArray) -> FloatArray:
        """Return the values to minimise of the rows of `Z`, shape (n, d); one question for all of them.

        Raises
        ------
        BudgetExhausted
            If the query budget does not reach for all rows. The rows that it does reach for are asked first, so that
            no part of a budget is lost to a large population.
        """
        left = self._problem.evaluations_left
        if left is not None and 0 < left < len(Z):
            self._ask(Z[:left])
        return self._ask(Z)

    def _ask(self, Z: FloatArray) -> FloatArray:
        values, classes = self._problem.evaluate(Z)
        better = np.flatnonzero((values < self.value) & (classes == self._problem.target))
        if len(better):
            best = better[np.argmin(values[better])]
            self.value = float(values[best])
            self.z = Z[best].copy()
        return values
