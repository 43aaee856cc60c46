"""How robust a result is to perturbations of the features that it keeps: the paper's K-robustness score."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import CellContext, Found, Metric
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray
from cfbench_metrics.found import stream_of


class KRobustness(Metric):
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

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        """Return a share per search, NaN where it found nothing."""
        dataset = context.dataset
        scores = np.empty(len(found.rows))
        for i, row in enumerate(found.rows):
            stream = stream_of("k-robustness", context, int(found.row_ids[row]))
            neighbours = KNeighbours(dataset.space, found.x[row], stream, self.m)
            classes = context.predict_neighbours(found.z[row : row + 1], neighbours)
            scores[i] = (classes == dataset.target).mean()
        return found.spread(scores)
