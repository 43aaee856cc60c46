"""From points in cfbench's coordinates to the columns that scikit-learn is trained on.

Points hold categories as codes; a classifier needs categories that have no order as indicator columns. The encoding is
a part of the model, so searchers and metrics never see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench.space.space import FeatureSpace, FloatArray, IntArray

ORDERLESS_FROM = 3
"""Categorical features with at least this many categories are one-hot encoded; two categories stay one column."""


@dataclass(frozen=True, eq=False)
class OneHot:
    """The indicator columns of one feature.

    Parameters
    ----------
    feature : int
        Its position in the feature space.
    start : int
        Its first column.
    table : ndarray of float64, shape (k + 1, columns)
        Row c is what code c is encoded as; the last row, all zeros, is what anything else is encoded as.
    """

    feature: int
    start: int
    table: FloatArray

    def rows(self, values: FloatArray) -> FloatArray:
        """Encode the feature's values, shape (n,), as rows of shape (n, columns)."""
        unknown = len(self.table) - 1
        is_code = (values >= 0) & (values < unknown) & (values == np.floor(values))
        encoded: FloatArray = self.table[np.where(is_code, values, unknown).astype(np.intp)]
        return encoded


@dataclass(frozen=True, eq=False)
class Encoding:
    """An encoding fitted on training rows.

    The columns stand in feature order. A categorical feature with more than two categories becomes an indicator column
    for each category that occurs in the training rows; every other feature is one column. Decision: a category that
    does not occur in training, or a value that is no category, is a row of zeros, as scikit-learn's
    ``OneHotEncoder(handle_unknown="ignore")`` has it.

    Parameters
    ----------
    n_columns : int
    copied : ndarray of int64, shape (m,)
        Features that become one column each.
    columns : ndarray of int64, shape (m,)
        Their columns.
    one_hot : tuple of OneHot
    mean, scale : ndarray of float64, shape (m,), or None
        What is subtracted from the copied features, and what they are divided by then (0 and 1 for categories of two).
        None: they stay in raw units.
    """

    n_columns: int
    copied: IntArray
    columns: IntArray
    one_hot: tuple[OneHot, ...]
    mean: FloatArray | None = None
    scale: FloatArray | None = None

    def transform(self, Z: FloatArray) -> FloatArray:
        """Encode points, shape (n, d), as rows of shape (n, n_columns)."""
        values = Z[:, self.copied]
        if self.mean is not None and self.scale is not None:
            values = (values - self.mean) / self.scale
        encoded = np.empty((len(Z), self.n_columns))
        encoded[:, self.columns] = values
        for part in self.one_hot:
            encoded[:, part.start : part.start + part.table.shape[1]] = part.rows(Z[:, part.feature])
        return encoded

    def last_up_to(self, feature: int, ends: FloatArray) -> FloatArray:
        """Return the largest value of a copied feature whose column is at most each of `ends`, to the last bit.

        Standardising rounds, but it never puts two values into the opposite order, so that halving finds the value.
        """
        if self.mean is None or self.scale is None:
            return ends
        place = int(np.flatnonzero(self.copied == feature)[0])
        mean, scale = float(self.mean[place]), float(self.scale[place])
        low = np.full(len(ends), _place_of(np.array([-_LARGEST]))[0])
        high = np.full(len(ends), _place_of(np.array([_LARGEST]))[0])
        with np.errstate(over="ignore"):
            while (high - low > 1).any():
                middle = low + (high - low) // np.uint64(2)
                stays = (_value_at(middle) - mean) / scale <= ends
                low, high = np.where(stays, middle, low), np.where(stays, high, middle)
            return np.where((_value_at(high) - mean) / scale <= ends, _value_at(high), _value_at(low))

    def pulled_back(self, gradient: FloatArray) -> FloatArray:
        """Turn derivatives by the columns, shape (n, n_columns), into those by the copied features, shape (n, d).

        One-hot encoded features have no derivative; theirs are 0.
        """
        by_feature = np.zeros((len(gradient), len(self.copied) + len(self.one_hot)))
        by_feature[:, self.copied] = gradient[:, self.columns] / (1.0 if self.scale is None else self.scale)
        return by_feature

    def arrays(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Everything that the encoding learned, for a model's fingerprint."""
        yield self.copied
        yield self.columns
        for part in self.one_hot:
            yield np.array([part.feature, part.start], dtype=np.int64)
            yield part.table
        if self.mean is not None and self.scale is not None:
            yield self.mean
            yield self.scale


_LARGEST = float(np.finfo(np.float64).max)
_SIGN = np.uint64(2**63)


def _place_of(values: FloatArray) -> NDArray[np.uint64]:
    """Return the places of numbers in the order of all float64 numbers."""
    bits = values.view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _value_at(places: NDArray[np.uint64]) -> FloatArray:
    """Return the numbers at places in the order of all float64 numbers."""
    return np.where(places & _SIGN, places & ~_SIGN, ~places).view(np.float64)


def fit_encoding(X: FloatArray, space: FeatureSpace, *, standardise: bool) -> Encoding:
    """Fit an encoding on training rows.

    Parameters
    ----------
    X : ndarray of float64, shape (n, d)
    space : FeatureSpace
    standardise : bool
        Whether numerical columns are brought to mean 0 and standard deviation 1 (of the training rows).

    Returns
    -------
    Encoding
    """
    copied, columns, one_hot = [], [], []
    end = 0
    for i, k in enumerate(space.n_categories):
        if k < ORDERLESS_FROM:
            copied.append(i)
            columns.append(end)
            end += 1
            continue
        present = np.unique(X[:, i]).astype(np.intp)
        table = np.zeros((k + 1, len(present)))
        table[present, np.arange(len(present))] = 1.0
        one_hot.append(OneHot(i, end, table))
        end += len(present)
    mean = scale = None
    if standardise:
        mean, scale = _standardisation(X[:, copied], ~space.is_categorical[copied])
    return Encoding(
        end, np.array(copied, dtype=np.int64), np.array(columns, dtype=np.int64), tuple(one_hot), mean, scale
    )


def _standardisation(
    values: FloatArray, numerical: np.ndarray[Any, np.dtype[np.bool_]]
) -> tuple[FloatArray, FloatArray]:
    """Return mean and scale of the copied features; scikit-learn decides when a column counts as constant."""
    from sklearn.preprocessing import StandardScaler

    mean, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    if numerical.any():
        scaler = StandardScaler().fit(values[:, numerical])
        mean[numerical], scale[numerical] = scaler.mean_, scaler.scale_
    return mean, scale
