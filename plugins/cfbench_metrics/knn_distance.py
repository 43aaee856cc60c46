"""How far a result is from the training data of the target class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from cfbench import CellContext, CounterfactualMetric
from cfbench_metrics.found import Found
from cfbench_metrics.training import target_rows

if TYPE_CHECKING:
    import pandas as pd


class KnnDistance(CounterfactualMetric):
    """Mean Gower distance of the result to the nearest training rows that the data label with the target class.

    Parameters
    ----------
    neighbours : int
        How many; all of them where there are fewer.
    """

    neighbours: int = Field(default=5, ge=1)

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a distance in [0, 1] a search; NaN where it found nothing or no training row has the target class."""
        space = context.dataset.space
        found = Found.among(searches, space.d)
        rows = target_rows(context)
        values = np.full(len(found.rows), np.nan)
        if len(rows):
            for i, z in enumerate(found.Z):
                values[i] = np.sort(space.gower(rows, z))[: self.neighbours].mean()
        return found.spread(values, searches)
