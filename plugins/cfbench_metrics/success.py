"""Whether a search found a counterfactual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import CellContext, CounterfactualMetric, Status

if TYPE_CHECKING:
    import pandas as pd


class Success(CounterfactualMetric):
    """1 where the judge confirmed a counterfactual, 0 where there is none.

    A search whose query budget ran out is a success where its best row so far is a counterfactual, as on the
    leaderboard. A search that was skipped was never run and is outside the denominator.
    """

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return 1, 0 or NaN a search."""
        succeeded = searches["loss"].notna().astype("float64")
        return succeeded.where(searches["status"] != Status.SKIPPED)
