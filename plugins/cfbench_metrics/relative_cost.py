"""Costs relative to the ideal one: that of the same searcher's result under objective ``none``, nothing perturbed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cfbench import FeatureSpace, ObjectiveComparison
from cfbench_metrics.additional_cost import Over

if TYPE_CHECKING:
    import pandas as pd


def ideal_cost(reference: pd.DataFrame) -> pd.Series[float]:
    """Return the cost to divide by, per point; NaN where nothing was found (a found result costs more than 0)."""
    return reference["loss"].where(reference["found"] & (reference["loss"] > 0))


class RelativeCost(ObjectiveComparison):
    """The actual cost, perturbations included, over the ideal cost.

    Parameters
    ----------
    part, distribution, draws, over, l0
        As those of the metric ``actual-cost``, whose values it needs.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)
    over: Over = "all"
    l0: bool = False
    setbacks: ClassVar[str] = "normalised"

    def measures(self) -> tuple[str, ...]:
        """Name the actual cost with these settings, and the share of draws that cannot be walked back."""
        shared = f"part={self.part},distribution={self.distribution},draws={self.draws}"
        l0 = str(self.l0).lower()
        return (
            f"actual-cost[{shared},over={self.over},l0={l0},setbacks={self.setbacks}]",
            f"unfixable[{shared}]",
        )

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing or the actual cost is absent."""
        ratio: pd.Series[float] = points[self.measures()[0]] / ideal_cost(reference)
        return ratio


class RawRelativeCost(RelativeCost):
    """The relative cost with setbacks in raw units, not divided by the range.

    Decision: it is kept next to the normalised one, because it explains the published relative costs of two orders of
    magnitude. It reproduces the published reading for C under objective ``none`` only. For other objectives and for K
    the published experiments differ in more than the units; the metric ``relative-cost-published`` follows them.
    """

    setbacks: ClassVar[str] = "raw"
