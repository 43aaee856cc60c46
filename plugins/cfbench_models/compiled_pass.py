"""A network's forward pass by compiled code, with a bound on what rounding can do to each answer.

The inputs of a row are those of a common row and some differences. The sums of the common row's inputs have the
rounding of a forward pass. To add the differences rounds as often as there are inputs at most, each time by a share of
what the common row and both values of the changed inputs amount to. So twice the rounding that a forward pass has with
all these inputs together bounds the whole, in whatever order it is summed up.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, IntArray
from cfbench_models.forward_pass import MOST_ROUNDING, ForwardPass

MANY_DIFFERENCES = 14.0
"""If the rows of a question differ in so many features, one matrix product is quicker."""

Singles = NDArray[np.float32]


class NetworkTables(NamedTuple):
    """A network of d features, i inputs, u hidden units and k outputs.

    Parameters
    ----------
    hidden : ndarray of float32, shape (i + 2, u)
        Weights by input; the last rows hold the biases and zeros, an input that is never there.
    output, output_bias : ndarray of float32, shape (k, u), (k,)
    rounding : ndarray of float32, shape (i + 2,)
        What rounding may amount to, an input of 1 each.
    most_rounding : float32
        Rows whose rounding may amount to more are in doubt.
    mean, factor : ndarray of float64, shape (d,)
        What is subtracted from a number, and what it is multiplied by then.
    first_code : ndarray of int64, shape (d + 1,)
    indicator : ndarray of int64
        By code, feature after feature: the input that indicates it, or the one that is never there. Features that are
        not one-hot encoded have no codes here.
    """

    hidden: Singles
    output: Singles
    output_bias: Singles
    rounding: Singles
    most_rounding: np.float32
    mean: FloatArray
    factor: FloatArray
    first_code: IntArray
    indicator: IntArray

    @classmethod
    def of(cls, network: ForwardPass) -> Self:
        """Lay out a forward pass in single precision."""
        inputs = network.inputs
        d, none = len(inputs.mean), len(inputs) + 1
        codes = inputs.codes[:, 0].astype(np.int64)
        tables = []
        for f in range(d):
            own = np.flatnonzero(inputs.indicated == f)
            table = np.full(codes[own].max() + 1 if len(own) else 0, none, dtype=np.int64)
            table[codes[own]] = d + own
            tables.append(table)
        return cls(
            hidden=np.pad(network.hidden.T.astype(np.float32, order="C"), ((0, 1), (0, 0))),
            output=np.ascontiguousarray(network.output, dtype=np.float32),
            output_bias=network.output_bias[:, 0].astype(np.float32),
            rounding=np.append(network.rounding, 0).astype(np.float32),
            most_rounding=np.float32(MOST_ROUNDING),
            mean=inputs.mean[:, 0].copy(),
            factor=inputs.factor[:, 0].copy(),
            first_code=np.cumsum([0, *map(len, tables)], dtype=np.int64),
            indicator=np.concatenate([*tables, np.empty(0, dtype=np.int64)]),
        )


class CompiledPass:
    """A network in single precision, asked by compiled code where its rows resemble each other.

    Parameters
    ----------
    network : ForwardPass
        In single precision.
    kernels : module
        ``cfbench_models.network_kernels``.
    """

    def __init__(self, network: ForwardPass, kernels: ModuleType) -> None:
        self._network = network
        self._kernels = kernels
        self._tables = NetworkTables.of(network)

    def answer(self, Z: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer rows, shape (n, d), as :meth:`ForwardPass.answer` does."""
        Z = np.require(Z, dtype=np.float64, requirements=["C", "W"])
        if Z.ndim == 2 and Z.shape[1] == len(self._tables.mean):
            resemble, winners, certain = self._kernels.classes_of_rows(self._tables, Z, MANY_DIFFERENCES)
            if resemble:
                return winners, certain
        return self._network.answer(Z)
