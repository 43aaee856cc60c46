"""A network's inputs and its forward pass in one precision, with a bound on what rounding can do to each answer.

Matrix products round differently in another order of summation, and libraries choose the order by the matrix's shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cfbench.errors import UnavailableError
from cfbench.models import Encoding
from cfbench.space import FloatArray, IntArray

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


BLOCK = 1024
"""Rows that pass the network together: their hidden layer stays in a core's cache."""

_SPARE_ROUNDINGS = 10
"""Roundings in addition to those of the sums: to standardise an input, to convert it and the weights, to add the
rest."""

_ACTIVATION_ROUNDINGS = 16
"""An output within this many roundings of the class boundary may count as on it, after a logistic function or
softmax."""

MOST_ROUNDING = 1.0
"""Rows whose rounding may amount to more are in doubt, whatever their outputs: nothing overflows in any other row."""

_DOUBLE = float(np.finfo(np.float64).eps) / 2


class ForwardPass:
    """A fitted network with one hidden layer of rectified units, in one precision.

    Its inputs are those of all features and a 1 for the biases.

    Parameters
    ----------
    encoding : Encoding
    classifier : MLPClassifier
        Fitted on the encoding's columns.
    precision : dtype
        float32 or float64.

    Raises
    ------
    UnavailableError
        If the network is of another shape; the message says what is not supported.

    Attributes
    ----------
    inputs : NetworkInputs
    hidden : ndarray, shape (units, inputs + 1)
        Weights and biases of the hidden layer; 0 for features that are one-hot encoded.
    output, output_bias : ndarray, shape (outputs, units), (outputs, 1)
    rounding : ndarray, shape (inputs + 1,)
        What rounding may amount to, an input of 1 each, where outputs are compared.
    """

    def __init__(self, encoding: Encoding, classifier: Any, precision: DTypeLike) -> None:
        _refuse_other_shapes(encoding, classifier)
        self.inputs, columns = NetworkInputs.of(encoding)
        first, second = (np.asarray(weights, dtype=np.float64) for weights in classifier.coefs_)
        biases, output_biases = classifier.intercepts_
        hidden = np.zeros((len(self.inputs) + 1, first.shape[1]))
        hidden[:-1][columns >= 0] = first[columns[columns >= 0]]
        hidden[-1] = biases
        self.hidden: Reals = np.ascontiguousarray(hidden.T, dtype=precision)
        self.output: Reals = np.ascontiguousarray(second.T, dtype=precision)
        self.output_bias: Reals = np.asarray(output_biases, dtype=precision)[:, np.newaxis]

        # scikit-learn's answer, in double precision, may be as far from the exact one as ours in that precision. The
        # winner is told by its difference from other outputs where there are several. A tenth is for the bound itself.
        unit = float(np.finfo(self.hidden.dtype).eps) / 2
        share = 1.1 * (sum(hidden.shape) + _SPARE_ROUNDINGS) * (unit + _DOUBLE) * min(len(self.output), 2)
        # Numbers below the smallest normal one lose more of themselves, but never more than that one does.
        magnitudes = np.maximum(np.abs(hidden), np.finfo(self.hidden.dtype).tiny)
        magnitudes[:-1][columns < 0] = 0
        rounding = share * (magnitudes @ np.abs(second))
        rounding[-1] += share * np.abs(output_biases) + _ACTIVATION_ROUNDINGS * _DOUBLE
        largest = max(1.0, np.abs(hidden).max(), np.abs(second).max(), np.abs(output_biases).max())
        safe_input = float(np.finfo(self.hidden.dtype).max) / (16 * hidden.size * largest**2)
        self.rounding: Reals = np.maximum(rounding.max(axis=1), MOST_ROUNDING / safe_input).astype(self.hidden.dtype)

        # What `answer_row` needs, in the form that is quickest for a row.
        self._means, self._factors = self.inputs.mean[:, 0].copy(), self.inputs.factor[:, 0].copy()
        self._codes = self.inputs.codes[:, 0].copy()
        self._nothing = np.zeros((), dtype=self.hidden.dtype)
        self._biases: list[float] = self.output_bias[:, 0].tolist()

    def encode(self, Z: FloatArray) -> Reals:
        """Return the inputs of rows of features, shape (inputs + 1, n)."""
        inputs = np.empty((len(self.inputs) + 1, len(Z)), dtype=self.hidden.dtype)
        self.inputs.encode(Z.T.copy(), inputs[:-1])
        inputs[-1] = 1
        return inputs

    def answer(self, Z: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer rows, shape (n, d).

        Returns
        -------
        winners : ndarray of int64, shape (n,)
            Positions among the network's classes.
        certain : ndarray of bool, shape (n,)
            False for rows in doubt, whose winners mean nothing.
        """
        winners = np.empty(len(Z), dtype=np.int64)
        certain = np.empty(len(Z), dtype=bool)
        for start in range(0, len(Z), BLOCK):
            block = slice(start, start + BLOCK)
            inputs = self.encode(Z[block])
            sums = self.hidden @ inputs
            rounding = self.rounding @ np.abs(inputs, out=inputs)
            winners[block], certain[block] = self.decide(sums, rounding)
        return winners, certain

    def decide(self, sums: Reals, rounding: Reals) -> tuple[IntArray, NDArray[np.bool_]]:
        """Go on from the hidden layer's sums.

        Parameters
        ----------
        sums : ndarray, shape (..., units, n)
            Of weighted inputs and biases; used up.
        rounding : ndarray, shape (..., n)
            What rounding may amount to.

        Returns
        -------
        winners, certain : ndarray, shape (..., n)
            As `answer`.
        """
        outputs = self.output @ np.maximum(sums, 0, out=sums)
        outputs += self.output_bias
        if len(self.output) == 1:
            winners = (outputs[..., 0, :] > 0).astype(np.int64)
            leads = np.abs(outputs[..., 0, :])
        else:
            winners = outputs.argmax(axis=-2)
            outputs.sort(axis=-2)
            leads = outputs[..., -1, :] - outputs[..., -2, :]
        return winners, (rounding < leads) & (rounding < MOST_ROUNDING)

    def answer_row(self, z: FloatArray) -> int:
        """Answer one row, shape (d,), in few steps; -1 where it is in doubt."""
        inputs = np.empty(len(self.rounding), dtype=self.hidden.dtype)
        features = inputs[: len(z)]
        np.subtract(z, self._means, out=features, casting="same_kind")
        features *= self._factors
        inputs[len(z) : -1] = z[self.inputs.indicated] == self._codes
        inputs[-1] = 1
        sums = self.hidden.dot(inputs)
        outputs = self.output.dot(np.maximum(sums, self._nothing, out=sums)).tolist()
        rounding = float(self.rounding.dot(np.abs(inputs, out=inputs)))
        biased = [output + bias for output, bias in zip(outputs, self._biases, strict=True)]
        if len(biased) == 1:
            winner, lead = int(biased[0] > 0), abs(biased[0])
        else:
            *_, second, first = sorted(biased)
            winner, lead = biased.index(first), first - second
        return winner if rounding < min(lead, MOST_ROUNDING) else -1


def _refuse_other_shapes(encoding: Encoding, classifier: Any) -> None:
    from sklearn.neural_network import MLPClassifier

    if type(classifier) is not MLPClassifier:
        raise UnavailableError(f"the classifier is a {type(classifier).__name__}, not an MLPClassifier")
    if len(classifier.coefs_) != 2:
        raise UnavailableError(f"the network has {len(classifier.coefs_) - 1} hidden layers; one is supported")
    if classifier.activation != "relu":
        raise UnavailableError(f"the network's units are of kind {classifier.activation!r}; 'relu' is supported")
    if encoding.mean is None or encoding.scale is None:
        raise UnavailableError("the network's columns are not standardised")
