"""The relative change in loss against a reference searcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import ComparisonMetric

if TYPE_CHECKING:
    import pandas as pd


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
