"""Asking a model: the contract of an oracle, and the meter that counts every row that is asked.

An oracle answers for every row with the class that the fitted model's own ``predict`` gives, always. Oracles may be
faster than the model; they are never different from it.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from cfbench.errors import BudgetExhausted, ModelError
from cfbench.perturbations import KNeighbours
from cfbench.space import FloatArray, IntArray

_BLOCK = 65_536
"""Rows of neighbours that are drawn at once."""


@runtime_checkable
class Oracle(Protocol):
    """The way to ask a model."""

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes, int64, shape (n,), of the rows of `Z`, float64, shape (n, d)."""
        ...

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities, float64, shape (n, n_classes), columns in the order of the class codes."""
        ...


@runtime_checkable
class NeighbourOracle(Protocol):
    """An oracle with a way of its own to the K-neighbours of many candidates."""

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, float64, shape (n, d); int64, shape (n, m)."""
        ...


def predict_neighbours(oracle: Oracle, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
    """Ask for the classes of K-neighbours, in the oracle's own way where it has one, row by row otherwise.

    Nothing is asked where there are no neighbours, ``m = 0``.

    Parameters
    ----------
    oracle : Oracle
    Z : ndarray of float64, shape (n, d)
    neighbours : KNeighbours

    Returns
    -------
    ndarray of int64, shape (n, m)
    """
    if neighbours.m == 0 or len(Z) == 0:
        return np.empty((len(Z), neighbours.m), dtype=np.int64)
    if isinstance(oracle, NeighbourOracle):
        return oracle.predict_neighbours(Z, neighbours)
    classes = np.empty((len(Z), neighbours.m), dtype=np.int64)
    at_once = max(1, _BLOCK // neighbours.m)
    for first in range(0, len(Z), at_once):
        rows = neighbours.draw(Z[first : first + at_once], first)
        classes[first : first + at_once] = oracle.predict(rows.reshape(-1, rows.shape[2])).reshape(rows.shape[:2])
    return classes


class Meter:
    """An oracle that counts rows and keeps the query budget.

    Every row counts, by whatever way it is asked, the searcher's and the objective's apart. Decision: the budget bounds
    their sum, since both are questions to the model.

    Parameters
    ----------
    oracle : Oracle
    d : int
        Number of features that a row must have.
    max_queries : int or None
        The query budget in rows; None: no bound.
    """

    def __init__(self, oracle: Oracle, d: int, max_queries: int | None = None) -> None:
        self._oracle = oracle
        self._d = d
        self._max_queries = max_queries
        self.search_queries = 0
        self.robustness_queries = 0

    @property
    def queries_left(self) -> int | None:
        """Rows that may still be asked; None where there is no budget."""
        if self._max_queries is None:
            return None
        return self._max_queries - self.search_queries - self.robustness_queries

    def require(self, rows: int) -> None:
        """Make sure that `rows` more rows may be asked.

        Raises
        ------
        BudgetExhausted
            If they would pass the query budget.
        """
        left = self.queries_left
        if left is not None and rows > left:
            raise BudgetExhausted(
                f"a question of {rows} rows would pass the query budget of {self._max_queries}: {left} rows are left"
            )

    def predict(self, Z: FloatArray) -> IntArray:
        """Ask for classes on behalf of the searcher."""
        self.search_queries += self._admit(Z)
        return self._oracle.predict(Z)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Ask for probabilities on behalf of the searcher."""
        self.search_queries += self._admit(Z)
        return self._oracle.predict_proba(Z)

    def predict_for_objective(self, Z: FloatArray) -> IntArray:
        """Ask for classes on behalf of a robustness objective."""
        self.robustness_queries += self._admit(Z)
        return self._oracle.predict(Z)

    def predict_neighbours_for_objective(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Ask for the classes of the K-neighbours of candidates, shape (n, m), on behalf of a robustness objective."""
        self.robustness_queries += self._admit(Z, rows_each=neighbours.m)
        return predict_neighbours(self._oracle, Z, neighbours)

    def _admit(self, Z: FloatArray, rows_each: int = 1) -> int:
        """Check a question and return how many rows it asks, before any of them is answered."""
        if not isinstance(Z, np.ndarray) or Z.dtype != np.float64 or Z.ndim != 2 or Z.shape[1] != self._d:
            received = f"{Z.dtype} of shape {Z.shape}" if isinstance(Z, np.ndarray) else type(Z).__name__
            raise ModelError(f"a question is a float64 array of shape (n, {self._d}), not {received}")
        if not np.isfinite(Z).all():
            raise ModelError("a question holds a NaN or an infinity; every value must be finite")
        self.require(len(Z) * rows_each)
        return len(Z) * rows_each
