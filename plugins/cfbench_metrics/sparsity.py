"""How much of the factual point a result keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import CellContext, CounterfactualMetric

if TYPE_CHECKING:
    import pandas as pd


class Sparsity(CounterfactualMetric):
    """The share of features that the result keeps as they are: ``1 - l0 / d``."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a share in [0, 1] a search, NaN where it found nothing."""
        kept: pd.Series[float] = 1.0 - searches["l0"].astype("float64") / context.dataset.space.d
        return kept
