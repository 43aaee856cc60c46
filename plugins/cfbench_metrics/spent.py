"""What a search spent: time, and rows asked of the model. Successful or not, every search counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import CellContext, CounterfactualMetric

if TYPE_CHECKING:
    import pandas as pd


class Seconds(CounterfactualMetric):
    """Wall-clock seconds from the searcher's call to its answer; judging is not in it."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the seconds a search."""
        return searches["wall_seconds"].astype("float64")


class Queries(CounterfactualMetric):
    """Rows asked of the model, the searcher's and the objective's together, since both are questions to it."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the rows a search."""
        rows: pd.Series[int] = searches["search_queries"] + searches["robustness_queries"]
        return rows.astype("float64")
