"""The box of the feasible rows around one factual point, gridded where values are discrete."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple

import numpy as np

from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray, are_multiples


class BoxArrays(NamedTuple):
    """A box as compiled code takes it; each array is of shape (d,).

    Parameters
    ----------
    lower, upper, spacing : ndarray of float64
        As in `FeasibleBox`.
    divisor : ndarray of float64
        The spacing; 1 for a continuum.
    counts : ndarray of float64
        The number of values on a feature's grid; without a meaning for a continuum.
    is_categorical : ndarray of bool
    home : ndarray of float64
        The value that stands for its place on the grid, whatever its last bits: that of `x`.
    """

    lower: FloatArray
    upper: FloatArray
    spacing: FloatArray
    divisor: FloatArray
    counts: FloatArray
    is_categorical: BoolArray
    home: FloatArray


class FeasibleBox:
    """The box that intervals, categories, constraints and steps leave around one factual point.

    Categories are whole numbers. If steps are respected, numerical values are multiples of their feature's step. The
    value of `x` stands for its own multiple, to the bit: 0.3 is a multiple of 0.1, and so is the float
    0.30000000000000004, but to move from one to the other would count as a change.

    If a feature may not change and `x` is off its step, no value of it is feasible. The box then has a lower end above
    its upper end.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
    constraints : bool
        Whether the constraints apply.
    respect_steps : bool
        Whether values off a feature's step are infeasible.

    Attributes
    ----------
    lower, upper : ndarray of float64, shape (d,)
        The outermost feasible values; read-only, as are the following.
    spacing : ndarray of float64, shape (d,)
        Distance between neighbouring feasible values: 1 for categories, the step where steps are respected, 0 for a
        continuum.
    is_categorical : ndarray of bool, shape (d,)
    arrays : BoxArrays
        Copies for compiled code, which is made for arrays that may be written.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Constraint, FeatureSpace, FeatureSpec, Kind
    >>> from cfbench.space import FeasibleBox
    >>> age = FeatureSpec("age", Kind.NUMERICAL, 18, 98, constraint=Constraint.ONLY_UP, step=1)
    >>> box = FeasibleBox(FeatureSpace((age,)), np.array([40.0]), constraints=True, respect_steps=True)
    >>> box.nearest(np.array([[39.0], [51.7], [120.0]])).ravel().tolist()
    [40.0, 52.0, 98.0]
    """

    def __init__(self, space: FeatureSpace, x: FloatArray, *, constraints: bool, respect_steps: bool) -> None:
        self.is_categorical = space.is_categorical.copy()
        steps = np.where(np.isnan(space.steps), 0.0, space.steps) if respect_steps else np.zeros(space.d)
        self.spacing: FloatArray = np.where(self.is_categorical, 1.0, steps)
        is_gridded = self.spacing > 0
        divisor = np.where(is_gridded, self.spacing, 1.0)
        lower, upper = space.feasible_bounds(x) if constraints else (space.lower, space.upper)
        first, last = lower / divisor, upper / divisor
        # An end that is a multiple but for the rounding of the division is one: 0.6 / 0.2 is less than 3.
        first = np.where(are_multiples(lower, divisor), np.rint(first), np.ceil(first))
        last = np.where(are_multiples(upper, divisor), np.rint(last), np.floor(last))
        self.lower: FloatArray = np.where(is_gridded, np.maximum(first * self.spacing, lower), lower)
        self.upper: FloatArray = np.where(is_gridded, np.minimum(last * self.spacing, upper), upper)
        # Never less than one: a factual value off the grid may leave no value.
        counts = np.maximum(last - first + 1, 1)
        home = np.where(is_gridded & are_multiples(x, divisor), x, np.nan)
        self.arrays = BoxArrays(
            self.lower.copy(), self.upper.copy(), self.spacing.copy(), divisor, counts, self.is_categorical.copy(), home
        )
        for array in (self.lower, self.upper, self.spacing, self.is_categorical):
            array.setflags(write=False)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw `n` rows, shape (n, d), every feature uniformly on its own."""
        share = rng.random((n, len(self.lower)))
        on_grid = self._as_home(self.lower + np.floor(share * self.arrays.counts) * self.spacing)
        continuous = self.lower + share * (self.upper - self.lower)
        # Rounding may carry a sum past the side it was computed from.
        drawn: FloatArray = np.minimum(np.where(self.spacing > 0, on_grid, continuous), self.upper)
        return drawn

    def nearest(self, values: FloatArray, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Return the values in the box nearest to `values`.

        Parameters
        ----------
        values : ndarray of float64
            Points, shape (..., d); or single values, shape (k,), of the features given.
        features : ndarray of int64, shape (k,), optional
            The feature that each value belongs to, if `values` are not whole points.
        """
        spacing = self.spacing[features]
        # Adding 0.0 turns a -0.0 into 0.0.
        whole = self._as_home(np.rint(values / self.arrays.divisor[features]) * spacing + 0.0, features)
        return np.clip(np.where(spacing > 0, whole, values), self.lower[features], self.upper[features])

    def inside(self, values: FloatArray) -> FloatArray:
        """Return the nearest points, shape (..., d), where categories may be any number of their interval."""
        clipped: FloatArray = np.clip(values, self.lower, self.upper)
        return np.where(self.is_categorical, clipped, self.nearest(values))

    def another(self, values: FloatArray, features: IntArray, shares: FloatArray) -> FloatArray:
        """Replace category codes by others of their features, each with the same probability.

        Parameters
        ----------
        values : ndarray of float64, shape (k,)
            Codes of the categorical features given.
        features : ndarray of int64, shape (k,)
        shares : ndarray of float64, shape (k,)
            Uniform in [0, 1); they decide which category is taken.

        Returns
        -------
        ndarray of float64, shape (k,)
            The same code where a feature has only one category in the box.
        """
        lower, counts = self.lower[features], self.arrays.counts[features]
        # A turn by 1 to count - 1 places meets every other category once; with one category it ends where it began.
        turn = 1 + np.floor(shares * (counts - 1))
        turned: FloatArray = lower + (values - lower + turn) % counts
        return turned

    def _as_home(self, on_grid: FloatArray, features: IntArray | EllipsisType = ...) -> FloatArray:
        """Give values on the grid the bits of `x` where they are its multiple."""
        home = self.arrays.home[features]
        return np.where(np.abs(on_grid - home) < self.spacing[features] / 2, home, on_grid)
