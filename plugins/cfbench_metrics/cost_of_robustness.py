"""What accounting for robustness costs where nothing is perturbed: more expensive results, longer searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench import FeatureSpace, ObjectiveComparison
from cfbench_metrics.relative_cost import ideal_cost

if TYPE_CHECKING:
    import pandas as pd


class CostOfRobustness(ObjectiveComparison):
    """The cost of the result over the ideal cost, without any perturbation: what accounting for robustness costs.

    Below 1 where the search under objective ``none`` missed the best.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3 and the appendix on additional cost.
    """

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing."""
        ratio: pd.Series[float] = points["loss"].where(points["found"]) / ideal_cost(reference)
        return ratio


class TimeOfRobustness(ObjectiveComparison):
    """The seconds that a search took beyond those under objective ``none``; negative where it was faster.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    appendix on additional runtime.
    """

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the difference a point; NaN where either side found nothing."""
        added: pd.Series[float] = points["seconds"] - reference["seconds"]
        return added.where(points["found"] & reference["found"])
