"""How many features a result changes, and how many of these changes are redundant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfbench import CellContext, CounterfactualMetric
from cfbench_metrics.found import FoundResults

if TYPE_CHECKING:
    import pandas as pd


class Sparsity(CounterfactualMetric):
    """The share of features that the result keeps as they are: ``1 - l0 / d``."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a share in [0, 1] a search, NaN where it found nothing."""
        kept: pd.Series[float] = 1.0 - searches["l0"].astype("float64") / context.dataset.space.d
        return kept


class Redundancy(CounterfactualMetric):
    """How many changed features can each be put back to the factual value, alone, with the target class kept.

    It asks one row of the model a changed feature. 0 for a result whose every change is needed.
    """

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a number of features a search, NaN where it found nothing."""
        found = FoundResults.among(searches, context.dataset.space.d)
        results, features = np.nonzero(found.Z != found.X)
        redundant = np.zeros(len(found.rows))
        if len(results):
            reverted = found.Z[results]
            reverted[np.arange(len(results)), features] = found.X[results, features]
            kept = context.oracle.predict(reverted) == context.dataset.target
            np.add.at(redundant, results[kept], 1.0)
        return found.spread(redundant, searches)
