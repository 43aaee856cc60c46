"""How robust a result is to perturbations of the features that it keeps: the paper's K-robustness score."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import CellContext, Found, Metric
from cfbench.robustness import KNeighbours
from cfbench.space import FloatArray


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
        scores = [k_scores(found, int(row), found.z[row : row + 1], self.m, context)[0] for row in found.rows]
        return found.spread(np.array(scores))


def k_scores(found: Found, row: int, Z: FloatArray, m: int, context: CellContext) -> FloatArray:
    """Return the K-robustness scores of the rows of `Z`, shape (k, d), as results of one search; shape (k,).

    Each row gets the same draws, those of a single result.
    """
    stream = context.stream("k-robustness", int(found.row_ids[row]))
    neighbours = KNeighbours(context.space, found.x[row], stream, m)
    classes = np.vstack([context.predict_neighbours(z[np.newaxis], neighbours) for z in Z])
    scores: FloatArray = (classes == context.dataset.target).mean(axis=1)
    return scores
