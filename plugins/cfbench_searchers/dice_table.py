"""What DiCE sees of a problem: data frames instead of vectors, strings instead of codes, and a metered model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cfbench import FloatArray, Problem
from cfbench_searchers.plausible_box import PlausibleBox

if TYPE_CHECKING:
    import pandas as pd

_EXACT_DIGITS = 15
"""Significant digits that a float64 holds whatever its value is: to round to them twice is to round once."""


class DiceTable:
    """One problem in DiCE's terms.

    Features are columns f0, f1, ..., whatever their names hold. Categories are strings, since the library takes
    anything else for labels to make strings of. Numbers are in raw units; where the study wants steps to be kept, in
    steps, which the library keeps when it is told that they are whole.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    outcome : str
        The column of the classes.
    names, numerical, free : list of str
        The columns of all features, of the numerical ones, and of those that may change.
    precisions : dict of str to int
        Decimal places of the numerical features. The library would take those of each feature's most frequent values,
        and round all others to them.
    permitted_range : dict of str to list of float
        The plausible interval of each numerical feature.
    """

    outcome = "outcome"

    def __init__(self, problem: Problem) -> None:
        box = PlausibleBox(problem)
        is_numerical = ~problem.space.is_categorical
        stepped = is_numerical & (box.spacing > 0)
        self._x, self._classes = problem.x, problem.training.y
        self._is_numerical = is_numerical
        self._is_fixed = box.upper <= box.lower
        self._units = np.where(stepped, box.spacing, 1.0)
        # The library starts from rows of the fold: where steps must be kept, those have to keep them.
        fold = problem.training.X
        self._X = np.where(stepped, np.rint(fold / self._units) * self._units, fold)
        self.names = [f"f{i}" for i in range(problem.space.d)]
        self.numerical = self._columns(is_numerical)
        self.free = self._columns(~self._is_fixed)

        ends = np.stack([box.lower, box.upper])
        known = np.concatenate([self._X, ends, self._x[np.newaxis]]) / self._units
        places = [0 if whole else decimal_places(column) for whole, column in zip(stepped, known.T, strict=True)]
        self.precisions = {self.names[i]: places[i] for i in np.flatnonzero(is_numerical)}
        sides = ends / self._units
        self.permitted_range = {self.names[i]: sides[:, i].tolist() for i in np.flatnonzero(is_numerical)}
        exact = np.concatenate([self._x[np.newaxis], ends, self._X])
        self._known = {i: known_values(exact[:, i], self._units[i], places[i]) for i in np.flatnonzero(is_numerical)}

    def training(self) -> pd.DataFrame:
        """Return the training fold, with `x` where that has a category that the fold lacks: DiCE refuses such a one."""
        X, y = self._X, self._classes
        if not np.all((X == self._x).any(axis=0) | self._is_numerical):
            X, y = np.vstack([X, self._x]), np.append(y, y[:1])  # the class is not used
        frame = self._frame(X)
        frame[self.outcome] = y
        return frame

    def factual(self) -> pd.DataFrame:
        """Return `x` as a frame of one row."""
        return self._frame(self._x[np.newaxis])

    def points(self, frame: pd.DataFrame) -> FloatArray:
        """Return the points, shape (n, d), that the rows of a frame of the library's stand for."""
        values = frame[self.names].to_numpy(dtype=object).astype(np.float64)
        Z: FloatArray = values * self._units
        for i, (keys, exact) in self._known.items():
            nearest = np.minimum(np.searchsorted(keys, values[:, i]), len(keys) - 1)
            Z[:, i] = np.where(keys[nearest] == values[:, i], exact[nearest], Z[:, i])
        Z[:, self._is_fixed] = self._x[self._is_fixed]
        return Z

    def _columns(self, chosen: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[str]:
        return [self.names[i] for i in np.flatnonzero(chosen)]

    def _frame(self, X: FloatArray) -> pd.DataFrame:
        import pandas as pd

        columns = zip(self.names, (X / self._units).T, self._is_numerical, strict=True)
        return pd.DataFrame(
            {name: values if numerical else [str(int(code)) for code in values] for name, values, numerical in columns}
        )


class NoTargetInSightError(Exception):
    """The library has drawn as many points in a row that are not of the target class as the search has patience for."""


class MeteredModel:
    """The model as DiCE queries it: by frames, and for probabilities.

    Parameters
    ----------
    problem : Problem
    table : DiceTable
    patience : int
        Queries of a single row, one directly after the other, that may be of other classes. The library queries single
        rows where it draws points until it has enough of the target class, which is its only unbounded loop.
    """

    def __init__(self, problem: Problem, table: DiceTable, patience: int) -> None:
        self._problem = problem
        self._table = table
        self._patience = patience
        self._misses = 0

    def predict_proba(self, frame: pd.DataFrame) -> FloatArray:
        """Return the class probabilities, shape (n, n_classes).

        Raises
        ------
        NoTargetInSightError
            If patience has run out.
        BudgetExhausted
            If the query would pass the query budget.
        """
        probabilities = self._problem.predict_proba(self._table.points(frame))
        is_miss = len(probabilities) == 1 and int(np.argmax(probabilities[0])) != self._problem.target
        self._misses = self._misses + 1 if is_miss else 0
        if self._misses >= self._patience:
            raise NoTargetInSightError
        return probabilities


def known_values(exact: FloatArray, unit: float, places: int) -> tuple[FloatArray, FloatArray]:
    """Return what the library makes of values that it was given, sorted, and the value that each stands for.

    The library keeps the training fold and `x` as float32, and rounds what it returns to `places` decimals: a value of
    the table would come back as another one, a value of `x` as a change, and an end of an interval as one outside.

    Parameters
    ----------
    exact : ndarray of float64, shape (n,)
        Where two come back as the same value, that stands for the first of them.
    unit : float
        The library is given ``exact / unit``.
    places : int
    """
    given = exact / unit
    single = given.astype(np.float32).astype(np.float64)
    seen = np.stack([given, np.round(given, places), single, np.round(single, places)], axis=1)
    keys, first = np.unique(seen, return_index=True)
    return keys, exact[first // seen.shape[1]]


def decimal_places(values: FloatArray) -> int:
    """Return the fewest decimal places that leave all `values` as they are; at most those that a float64 holds."""
    largest = float(np.abs(values).max())
    most = _EXACT_DIGITS - (math.floor(math.log10(largest)) + 1 if largest > 0 else 0)
    exact = (places for places in range(most) if np.array_equal(np.round(values, places), values))
    return next(exact, max(most, 0))
