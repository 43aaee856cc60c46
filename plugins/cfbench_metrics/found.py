"""What metrics work with: the results of a cell as arrays, random streams, and training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfbench import CellContext
from cfbench.digests import digest_of
from cfbench.space import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class FoundResults:
    """The searches of a cell that found a counterfactual.

    Parameters
    ----------
    rows : ndarray of int64, shape (n,)
        Their positions among all searches.
    row_ids : ndarray of int64, shape (n,)
        Their factual points' rows of the data set.
    X, Z : ndarray of float64, shape (n, d)
        Factual points and counterfactuals.
    """

    rows: IntArray
    row_ids: IntArray
    X: FloatArray
    Z: FloatArray

    @classmethod
    def among(cls, searches: pd.DataFrame, d: int) -> FoundResults:
        """Take them out of a cell's searches."""
        rows = np.flatnonzero(searches["loss"].notna()).astype(np.int64)
        results = searches.iloc[rows]

        def matrix(column: str) -> FloatArray:
            return np.array([np.asarray(vector) for vector in results[column]], dtype=np.float64).reshape(-1, d)

        return cls(rows, results["row_id"].to_numpy(dtype=np.int64), matrix("x"), matrix("z"))

    def spread(self, values: FloatArray, searches: pd.DataFrame) -> pd.Series[float]:
        """Return a Series a row of `searches`: `values`, shape (n,), for those that found something, NaN elsewhere."""
        import pandas as pd

        spread = np.full(len(searches), np.nan)
        spread[self.rows] = values
        return pd.Series(spread, index=searches.index)


_BITS = 0xFFFF_FFFF_FFFF_FFFF


def stream_of(purpose: str, context: CellContext, row_id: int) -> int:
    """Return the key, 64 bits, of a factual point's stream: it depends on study seed, data set and row."""
    return int(digest_of(["metric", purpose, context.seed, context.dataset.name, row_id]), 16) & _BITS


def target_rows(context: CellContext) -> FloatArray:
    """Return the training rows that the data label with the target class, shape (n, d)."""
    dataset = context.dataset
    rows: FloatArray = dataset.X[context.train[dataset.y[context.train] == dataset.target]]
    return rows
