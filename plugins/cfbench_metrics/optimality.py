"""How far a result is from the proven optimum, and from a reference searcher's result."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cfbench import ComparisonMetric, ReferenceComparison

if TYPE_CHECKING:
    import pandas as pd

UNPROVEN = "no optimum is proven, so that the gap is to a lower bound: at most what is shown"
UNBOUNDED = "exact-forest reports no lower bound, so that there is no gap"
NO_COUNTERFACTUAL = "exact-forest proved that there is no counterfactual, or that its value is 0"


class OptimalityGap(ReferenceComparison):
    """``(value - bound) / bound`` of the best repetition, a point: how far its objective value is above the optimum.

    The bound is what the exact searcher reports as its lower bound: the optimum where that is proven; where it is not,
    something below it, so that the gap is at most this. A gap of 0.001 or less counts as none.

    References
    ----------
    The relative gap of mathematical programming.
    """

    reference: ClassVar[str] = "exact-forest"

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        """Return the gap a point: 0.01 is one percent above the optimum.

        NaN where nothing was found, and where the reference has no lower bound or one of 0, which leaves nothing to
        divide by.
        """
        bound = _bounds(reference).set_axis(points.index)
        gap: pd.Series[float] = (points["objective_value"].where(points["found"]) - bound) / bound
        return gap

    def remarks(self, reference: pd.DataFrame) -> dict[str, int]:
        """Tell points without a proof from those that are proven to have no counterfactual."""
        proven = np.array([figures.get("proven") == 1 for figures in reference["figures"]], dtype=np.bool_)
        bounded = _bounds(reference).notna().to_numpy()
        counts = {UNPROVEN: bounded & ~proven, UNBOUNDED: ~bounded & ~proven, NO_COUNTERFACTUAL: ~bounded & proven}
        return {sentence: int(points.sum()) for sentence, points in counts.items() if points.any()}


def _bounds(reference: pd.DataFrame) -> pd.Series[float]:
    """Return the lower bounds that there is something to divide by."""
    import pandas as pd

    reported = [figures.get("lower_bound", np.nan) for figures in reference["figures"]]
    bounds = pd.Series(reported, reference.index, dtype=np.float64)
    return bounds.where(bounds > 0)


class RelativeLoss(ComparisonMetric):
    """``(loss - reference loss) / reference loss`` of the best repetition, a point.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    section that benchmarks the searchers without robustness.
    """

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame) -> pd.Series[float]:
        """Return the change a point: 0.5 is half as much again as the reference.

        NaN where either side found nothing, and where the reference's loss is 0, which leaves nothing to divide by.
        """
        base = reference["loss"].where(reference["found"] & (reference["loss"] > 0))
        change: pd.Series[float] = (points["loss"].where(points["found"]) - base) / base
        return change
