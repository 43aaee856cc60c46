"""How robust a result is to perturbations of the features that it keeps: the paper's K-robustness score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from cfbench import CellContext, CounterfactualMetric
from cfbench.robustness import KNeighbours
from cfbench_metrics.found import FoundResults, stream_of

if TYPE_CHECKING:
    import pandas as pd


class KRobustness(CounterfactualMetric):
    """The share of `m` random neighbours in K that keep the class of the result, in [0, 1].

    Constraints play no part in it. The draws are uniform and depend only on the study's seed, the data set and the
    factual point.

    Parameters
    ----------
    m : int
        Neighbours a result; 1,000 is the paper's approximated ground truth.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    K-robustness score and the appendix on its number of samples.
    """

    m: int = Field(default=1000, ge=1, le=1_000_000)

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a share a search, NaN where it found nothing."""
        dataset = context.dataset
        found = FoundResults.among(searches, dataset.space.d)
        scores = np.empty(len(found.rows))
        for i, (row_id, x, z) in enumerate(zip(found.row_ids, found.X, found.Z, strict=True)):
            stream = stream_of("k-robustness", context, int(row_id))
            neighbours = KNeighbours(dataset.space, x, stream, self.m)
            classes = context.predict_neighbours(z[np.newaxis], neighbours)
            scores[i] = (classes == dataset.target).mean()
        return found.spread(scores, searches)
