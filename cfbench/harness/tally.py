"""A second count behind the meter: what really reached the model, so that no way past the meter stays unnoticed."""

from __future__ import annotations

from cfbench.oracle import Oracle, predict_neighbours
from cfbench.perturbations import KNeighbours
from cfbench.space import FloatArray, IntArray


class Tally:
    """An oracle that counts the rows that reach it and answers as the one behind it.

    Parameters
    ----------
    oracle : Oracle

    Attributes
    ----------
    rows : int
    """

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.rows = 0

    def predict(self, Z: FloatArray) -> IntArray:
        """Answer with class codes, shape (n,)."""
        self.rows += len(Z)
        return self._oracle.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Answer with class probabilities, shape (n, n_classes)."""
        self.rows += len(Z)
        return self._oracle.predict_proba(Z)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Answer with the class codes of K-neighbours, shape (n, m)."""
        self.rows += len(Z) * neighbours.m
        return predict_neighbours(self._oracle, Z, neighbours)
