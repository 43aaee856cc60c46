"""The neural network's exact oracle, with a compiled forward pass whose rounding is bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench_models.network.inputs import MOST_ROUNDING, ForwardPass
from cfbench_models.network.neighbours import NetworkNeighbours
from cfbench_models.shared.compilation import CompiledNetworkQueries, NeighbourReach, compiled_network, plain

if TYPE_CHECKING:
    from cfbench_models.network.family import NetworkModel

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
    queries : CompiledNetworkQueries
    """

    def __init__(self, network: ForwardPass, queries: CompiledNetworkQueries) -> None:
        self._network = network
        self._queries = queries
        self._tables = NetworkTables.of(network)

    def answer(self, Z: FloatArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer rows, shape (n, d), as :meth:`ForwardPass.answer` does."""
        Z = plain(Z)
        if Z.ndim == 2 and Z.shape[1] == len(self._tables.mean):
            resemble, winners, certain = self._queries.classes_of_rows(self._tables, Z, MANY_DIFFERENCES)
            if resemble:
                return winners, certain
        return self._network.answer(Z)

    def answer_neighbours(
        self, Z: FloatArray, neighbours: KNeighbours, evaluations: NDArray[np.uint64]
    ) -> tuple[IntArray, NDArray[np.bool_]]:
        """Answer uniform K-neighbours as `NetworkNeighbours.answer` does."""
        Z, x, reach = plain(Z), plain(neighbours.x), NeighbourReach.of(neighbours)
        winners, certain = self._queries.classes_of_neighbours(self._tables, reach, Z, x, evaluations, neighbours.m)
        return winners, certain


_ROWS_AT_ONCE = 65_536


class NetworkOracle:
    """Asks a network in single precision, and more carefully where rounding could change the class.

    A row gets its class from the first of three that is certain of it: the forward pass in single precision, the one in
    double precision, scikit-learn asked for this row alone. The first two are certain only of what scikit-learn answers
    too, so a class depends on its row alone, whatever the other rows are.

    Parameters
    ----------
    model : NetworkModel

    Raises
    ------
    UnavailableError
        If the network is of a shape that is not supported.
    """

    def __init__(self, model: NetworkModel) -> None:
        self._model = model
        self._classes: IntArray = model.class_codes()
        self._single = ForwardPass(model.encoding, model.classifier, np.float32)
        queries = compiled_network()
        self._first = self._single if queries is None else CompiledPass(self._single, queries)
        self._double = ForwardPass(model.encoding, model.classifier, np.float64)
        self._neighbours: NetworkNeighbours | None = None

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d), int64, shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is in doubt, and goes on to scikit-learn
            if len(Z) == 1 and (winner := self._double.answer_row(Z[0])) >= 0:
                return self._classes[winner : winner + 1].copy()
            winners, certain = self._first.answer(Z)
            classes: IntArray = self._classes[winners]
            if not certain.all():
                classes[~certain] = self._with_care(Z[~certain])
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return scikit-learn's own probabilities, shape (n, n_classes)."""
        return self._model.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, shape (n, d), int64, shape (n, m)."""
        if type(neighbours) is not KNeighbours or neighbours.distribution is not Distribution.UNIFORM:
            return self._row_by_row(Z, neighbours)
        if self._neighbours is None or not self._neighbours.serves(neighbours):
            self._neighbours = NetworkNeighbours(self._single, neighbours)
        evaluations = neighbours.keys(len(Z))
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(self._first, CompiledPass):
                winners, certain = self._first.answer_neighbours(Z, neighbours, evaluations)
            else:
                winners, certain = self._neighbours.answer(Z, evaluations)
            classes: IntArray = self._classes[winners]
            partly = ~certain.all(axis=1)
            if partly.any():
                rows = self._neighbours.rows(Z[partly], evaluations[partly])
                classes[~certain] = self._with_care(rows[~certain[partly]])
        return classes

    def _row_by_row(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Answer neighbours whose draws are not known here."""
        classes = np.empty((len(Z), neighbours.m), dtype=np.int64)
        at_once = max(1, _ROWS_AT_ONCE // max(1, neighbours.m))
        for start in range(0, len(Z), at_once):
            rows = neighbours.draw(Z[start : start + at_once], start)
            classes[start : start + at_once] = self.predict(rows.reshape(-1, Z.shape[1])).reshape(rows.shape[:2])
        return classes

    def _with_care(self, Z: FloatArray) -> IntArray:
        """Answer rows that single precision left in doubt."""
        winners, certain = self._double.answer(Z)
        classes: IntArray = self._classes[winners]
        classes[~certain] = self._model.predict_alone(Z[~certain])
        return classes
