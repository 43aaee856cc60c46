"""The feasible answers of a problem as a box, gridded where values are discrete: candidates come from it."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfbench import Problem
from cfbench.space import FloatArray, IntArray


class BoxArrays(NamedTuple):
    """A box as compiled code takes it; each array is of shape (d,).

    Parameters
    ----------
    lower, upper, spacing : ndarray of float64
        As in `FeasibleBox`.
    divisor : ndarray of float64
        The spacing; 1 in a continuum.
    counts : ndarray of float64
        How many values a feature can take on its grid; of no meaning in a continuum.
    is_categorical : ndarray of bool
    """

    lower: FloatArray
    upper: FloatArray
    spacing: FloatArray
    divisor: FloatArray
    counts: FloatArray
    is_categorical: NDArray[np.bool_]


class FeasibleBox:
    """All feasible answers of one problem.

    Categories are whole numbers. Where the study asks for it, numerical values are multiples of their feature's step.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    lower, upper : ndarray of float64, shape (d,)
        The sides, narrowed to the outermost values that are allowed.
    spacing : ndarray of float64, shape (d,)
        Distance between neighbouring allowed values: 1 for categories, the step where steps hold, 0 for a continuum.
    is_categorical : ndarray of bool, shape (d,)
    arrays : BoxArrays
    """

    def __init__(self, problem: Problem) -> None:
        space = problem.space
        steps = [feature.step or 0.0 if problem.respect_steps else 0.0 for feature in space.features]
        self.is_categorical = space.is_categorical.copy()
        self.spacing = np.where(space.is_categorical, 1.0, steps)
        self._divisor = np.where(self.spacing > 0, self.spacing, 1.0)
        lower, upper = problem.bounds()
        self.lower: FloatArray = np.where(self.spacing > 0, np.ceil(lower / self._divisor) * self.spacing, lower)
        self.upper: FloatArray = np.where(self.spacing > 0, np.floor(upper / self._divisor) * self.spacing, upper)
        # How many values a feature can take on its grid; of no meaning in a continuum, and never less than one, since a
        # factual value off the grid may leave none.
        self._counts = np.maximum(np.rint((self.upper - self.lower) / self._divisor) + 1, 1)
        self.arrays = BoxArrays(self.lower, self.upper, self.spacing, self._divisor, self._counts, self.is_categorical)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` feasible points, every feature uniformly on its own; shape (n, d)."""
        share = rng.random((n, len(self.lower)))
        on_grid = self.lower + np.floor(share * self._counts) * self.spacing
        continuous = self.lower + share * (self.upper - self.lower)
        # Rounding may carry a sum past the side it was computed from.
        drawn: FloatArray = np.minimum(np.where(self.spacing > 0, on_grid, continuous), self.upper)
        return drawn

    def inside(self, values: FloatArray) -> FloatArray:
        """Return the nearest points, shape (..., d), where categories may be any number of their interval."""
        clipped: FloatArray = np.clip(values, self.lower, self.upper)
        return np.where(self.is_categorical, clipped, self.nearest(values))

    def nearest(self, values: FloatArray, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return the feasible values nearest to `values`.

        Parameters
        ----------
        values : ndarray of float64
            Points, shape (..., d); or single values, shape (k,), of the features given.
        features : ndarray of int64, shape (k,), optional
            Which feature each value belongs to, where `values` are no whole points.
        """
        spacing = self.spacing[features]
        # Adding 0.0 turns a -0.0 into 0.0.
        whole = np.rint(values / self._divisor[features]) * spacing + 0.0
        return np.clip(np.where(spacing > 0, whole, values), self.lower[features], self.upper[features])

    def another(self, values: FloatArray, features: IntArray, shares: FloatArray) -> FloatArray:
        """Replace category codes by others of their features, each with the same probability.

        Parameters
        ----------
        values : ndarray of float64, shape (k,)
            Codes of the categorical features given.
        features : ndarray of int64, shape (k,)
        shares : ndarray of float64, shape (k,)
            Uniform in [0, 1); they say which category is taken.

        Returns
        -------
        ndarray of float64, shape (k,)
            The same code where its feature has one feasible category only.
        """
        lower, counts = self.lower[features], self._counts[features]
        # A turn by 1 to count - 1 places meets every other category once; with one category it ends where it began.
        turn = 1 + np.floor(shares * (counts - 1))
        turned: FloatArray = lower + (values - lower + turn) % counts
        return turned


def rounded(problem: Problem, z: FloatArray) -> FloatArray | None:
    """Turn a point whose categories were moved as numbers into an answer: the nearest feasible point, shape (d,).

    Classifies the point again if rounding moved it; None if the class is lost.
    """
    answer = FeasibleBox(problem).nearest(z)
    if not np.array_equal(answer, z) and problem.predict(answer[np.newaxis])[0] != problem.target:
        return None
    return answer
