"""The results of a cell as arrays, and values for them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfbench import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Found:
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
    def among(cls, searches: pd.DataFrame, d: int) -> Found:
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
