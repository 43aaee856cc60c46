"""From features to the inputs of a network, a row of the question a column of the matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, IntArray
from cfbench_models.encoding import Encoding

Reals = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class NetworkInputs:
    """The inputs of some features: each feature standardised, in its order, and then the indicator columns.

    Parameters
    ----------
    mean, factor : ndarray of float64, shape (k, 1)
        What is subtracted from the features, and what they are multiplied by then.
    indicated : ndarray of int64, shape (i,)
        The feature, by its position among these, of each indicator.
    codes : ndarray of float64, shape (i, 1)
        The category that it indicates.
    """

    mean: FloatArray
    factor: FloatArray
    indicated: IntArray
    codes: FloatArray

    @classmethod
    def of(cls, encoding: Encoding) -> tuple[Self, IntArray]:
        """Return the inputs of all features, and for each input its column in the encoding; -1: it has none.

        The features that are one-hot encoded have none. They are inputs nevertheless, so that nothing need be picked.
        """
        assert encoding.mean is not None
        assert encoding.scale is not None
        d = len(encoding.copied) + len(encoding.one_hot)
        mean, factor, own_column = np.zeros((d, 1)), np.ones((d, 1)), np.full(d, -1)
        mean[encoding.copied, 0], factor[encoding.copied, 0] = encoding.mean, 1 / encoding.scale
        own_column[encoding.copied] = encoding.columns
        features, codes, columns = [np.empty(0)], [np.empty(0)], [own_column]
        for part in encoding.one_hot:
            known, places = np.nonzero(part.table)
            features.append(np.full(len(known), float(part.feature)))
            codes.append(known.astype(np.float64))
            columns.append(part.start + places)
        indicated = np.concatenate(features).astype(np.int64)
        of_indicators = np.concatenate(codes)[:, np.newaxis]
        return cls(mean, factor, indicated, of_indicators), np.concatenate(columns).astype(np.int64)

    def __len__(self) -> int:
        """Return the number of inputs."""
        return len(self.mean) + len(self.codes)

    def only(self, features: IntArray) -> tuple[Self, IntArray]:
        """Return the inputs of some of the features, and their positions among all inputs."""
        theirs = np.flatnonzero(np.isin(self.indicated, features))
        order = np.argsort(features)
        positions = order[np.searchsorted(features[order], self.indicated[theirs])]
        some = type(self)(self.mean[features], self.factor[features], positions.astype(np.int64), self.codes[theirs])
        return some, np.concatenate([features, len(self.mean) + theirs])

    def encode(self, columns: FloatArray, inputs: Reals) -> None:
        """Fill in the inputs.

        Parameters
        ----------
        columns : ndarray of float64, shape (..., k, n)
            The features; used up.
        inputs : ndarray, shape (..., k + i, n)
        """
        k = len(self.mean)
        np.equal(columns[..., self.indicated, :], self.codes, out=inputs[..., k:, :])
        columns -= self.mean
        np.multiply(columns, self.factor, out=inputs[..., :k, :], casting="same_kind")
