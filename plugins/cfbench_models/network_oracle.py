"""The neural network's exact oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfbench import Distribution, FloatArray, IntArray, KNeighbours
from cfbench_models.compilation import compiled_network
from cfbench_models.compiled_pass import CompiledPass
from cfbench_models.forward_pass import ForwardPass
from cfbench_models.network_neighbours import NetworkNeighbours

if TYPE_CHECKING:
    from cfbench_models.neural_network import NetworkModel


_ROWS_AT_ONCE = 65_536


class NetworkOracle:
    """Asks a network in single precision, and more carefully where rounding could change the class.

    A row gets its class from the first of three that is certain of it: the forward pass in single precision, the one in
    double precision, scikit-learn asked for this row alone. The first two are certain only of what scikit-learn answers
    too, so an answer depends on its row alone, whatever is asked beside it.

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
        self._classes: IntArray = np.asarray(model.classifier.classes_, dtype=np.int64)
        self._single = ForwardPass(model.encoding, model.classifier, np.float32)
        kernels = compiled_network()
        self._first = self._single if kernels is None else CompiledPass(self._single, kernels)
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
