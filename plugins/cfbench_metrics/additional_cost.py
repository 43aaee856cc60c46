"""What it costs to get back to a result after a random perturbation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from cfbench import CellContext, FeatureSpace, FloatArray
from cfbench_metrics.aftermath import Aftermath, AfterPerturbation, mean_over

if TYPE_CHECKING:
    import pandas as pd


class AdditionalCost(AfterPerturbation):
    """The mean cost of walking back to the result, over the draws that can be fixed; absent where none can.

    A draw that keeps the target class costs nothing. For changed features it is ``(1/2) (1/d) sum_C |w_i| / range_i``,
    a mismatch for categories, without the term for the number of changes: the feature is being acted on anyway. For
    kept features it is the cost of a new intervention, with that term. For both it is the sum.

    Parameters
    ----------
    over : {"fixable", "invalidated"}
        The draws that count: all that can be fixed, or those among them that are invalidated (Decision: both are kept;
        the first says what to expect, the second what it takes when it happens).
    setbacks : {"normalised", "raw"}
        ``raw`` leaves out the division by the range in changed features, as the published experiments did.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    over: Literal["fixable", "invalidated"] = "fixable"
    setbacks: Literal["normalised", "raw"] = "normalised"

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the mean of each result, shape (n,)."""
        counted = aftermath.fixable
        if self.over == "invalidated":
            counted = counted & ~aftermath.valid
        return mean_over(np.where(aftermath.valid, 0.0, self._way_back(aftermath, space)), counted)

    def _way_back(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:
        """Return the cost of walking back from each draw, shape (n, draws)."""
        changed = aftermath.changed[:, np.newaxis]
        moved = aftermath.perturbed != aftermath.Z[:, np.newaxis]
        apart = np.abs(aftermath.perturbed - aftermath.Z[:, np.newaxis])
        units = np.where(changed, 1.0, space.ranges) if self.setbacks == "raw" else space.ranges
        apart = np.where(space.is_categorical, moved, apart / units)
        new_changes = (moved & ~changed).sum(axis=2)
        cost: FloatArray = 0.5 * (apart.sum(axis=2) + new_changes) / space.d
        return cost


class ActualCost(AdditionalCost):
    """The cost of reaching the result, perturbations included: ``cost(z, x)`` plus the mean additional cost.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        """Return the cost a search; NaN where it found nothing or no draw counts, and with constraints off."""
        return super().measure(searches, context) + searches["cost"].astype("float64")
