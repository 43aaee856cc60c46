"""What it costs to get back to a result after a random perturbation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from cfbench import CellContext, FeatureSpace, FloatArray
from cfbench_metrics.aftermath import Aftermath, AfterPerturbation, mean_over

if TYPE_CHECKING:
    import pandas as pd

Over = Literal["all", "fixable", "invalidated"]
"""The draws that a mean cost counts."""


class AdditionalCost(AfterPerturbation):
    """The mean cost of walking back to the result after a random perturbation.

    A draw that keeps the target class costs 0. An invalid draw costs the way back, whether the constraints allow it or
    not; the metric ``unfixable`` is the share of draws for which they do not. For changed features the way back
    costs ``(1/2) (1/d) sum_C |w_i| / range_i``, a mismatch for categories. For kept features it costs what a new
    intervention costs, with the term for the number of changes (L0). For both it is the sum.

    Decision: the mean is over all draws. A mean over the draws that can be fixed leaves out the worst ones, so that a
    result which can never be repaired looks free of cost.

    Decision: the L0 term is left out for changed features, as the published experiments leave it out: the feature is
    being acted on anyway. The paper's text can be read to include it; ``l0=true`` does.

    Parameters
    ----------
    over : {"all", "fixable", "invalidated"}
        The draws that the mean counts: all of them; those that keep the class or can be walked back; those that lose
        the class, whether they can be walked back or not. Where no draw counts, the value is absent.
    l0 : bool
        Whether each changed feature that is walked back costs another ``1/(2d)``.
    setbacks : {"normalised", "raw"}
        ``raw`` leaves out the division by the range in changed features, as the published experiments did.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    over: Over = "all"
    l0: bool = False
    setbacks: Literal["normalised", "raw"] = "normalised"

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the mean of each result, shape (n,)."""
        counted = {"all": np.ones_like(aftermath.valid), "fixable": aftermath.fixable, "invalidated": ~aftermath.valid}
        return mean_over(np.where(aftermath.valid, 0.0, self._way_back(aftermath, space)), counted[self.over])

    def _way_back(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the cost of walking back from each draw, shape (n, draws)."""
        changed = aftermath.changed[:, np.newaxis]
        moved = aftermath.perturbed != aftermath.Z[:, np.newaxis]
        apart = np.abs(aftermath.perturbed - aftermath.Z[:, np.newaxis])
        units = np.where(changed, 1.0, space.ranges) if self.setbacks == "raw" else space.ranges
        apart = np.where(space.is_categorical, moved, apart / units)
        walked = moved if self.l0 else moved & ~changed
        cost: FloatArray = 0.5 * (apart.sum(axis=2) + walked.sum(axis=2)) / space.d
        return cost


class ActualCost(AdditionalCost):
    """The cost of reaching the result, perturbations included: ``cost(z, x)`` plus the mean additional cost.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return the cost per search; NaN where it found nothing or no draw counts, and with constraints off."""
        return super().measure(searches, context) + searches["cost"].astype("float64")
