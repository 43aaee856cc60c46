"""Asking a model: the contract of an oracle, and the meter that counts every row that is asked.

An oracle answers for every row with the class that the fitted model's own ``predict`` gives, always. Oracles may be
faster than the model; they are never different from it.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from cfbench.errors import BudgetExhausted, ModelError
from cfbench.space import FloatArray, IntArray


@runtime_checkable
class Oracle(Protocol):
    """The way to ask a model."""

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes, int64, shape (n,), of the rows of `Z`, float64, shape (n, d)."""
        ...

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities, float64, shape (n, n_classes), columns in the order of the class codes."""
        ...


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

    def _admit(self, Z: FloatArray) -> int:
        """Check a question and return its number of rows, before any of them is answered."""
        if not isinstance(Z, np.ndarray) or Z.dtype != np.float64 or Z.ndim != 2 or Z.shape[1] != self._d:
            received = f"{Z.dtype} of shape {Z.shape}" if isinstance(Z, np.ndarray) else type(Z).__name__
            raise ModelError(f"a question is a float64 array of shape (n, {self._d}), not {received}")
        if not np.isfinite(Z).all():
            raise ModelError("a question holds a NaN or an infinity; every value must be finite")
        self.require(len(Z))
        return len(Z)
