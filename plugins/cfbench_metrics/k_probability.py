"""The exact probability behind the K-robustness score, on forests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from cfbench import CellContext, CounterfactualMetric
from cfbench_metrics.found import Found
from cfbench_metrics.k_certified import forest_shown

if TYPE_CHECKING:
    import pandas as pd


class KProbability(CounterfactualMetric):
    """The probability that a uniform K-perturbation keeps the class of the result, in [0, 1].

    Where `k-robustness` is the share of some draws, this is what it estimates: the middle of an interval that encloses
    the probability for certain. Absent where the interval is still too wide at the limit, and on models that show no
    forest.

    Parameters
    ----------
    width : float
        Of the interval, at most.
    seconds : float
        Wall-clock limit a result.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    K-robustness score and the appendix on its number of samples.
    """

    looks_into_model: ClassVar[bool] = True

    width: float = Field(default=0.01, ge=0, lt=1)
    seconds: float = Field(default=10.0, gt=0)

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return a probability a search, NaN where it found nothing or the limit came first."""
        from cfbench import k_probability  # it loads the compiler

        dataset = context.dataset
        found = Found.among(searches, dataset.space.d)
        values = np.full(len(found.rows), np.nan)
        structure = forest_shown(context)
        if structure is not None:
            for i, (x, z) in enumerate(zip(found.X, found.Z, strict=True)):
                interval = k_probability(
                    structure, dataset.space, x, z, dataset.target, width=self.width, seconds=self.seconds
                )
                if interval.width <= self.width:
                    values[i] = interval.middle
        return found.spread(values, searches)
