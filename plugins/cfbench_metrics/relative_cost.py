"""Costs beside the ideal one: that of the same searcher's result under objective ``none``, before any perturbation."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from cfbench import FeatureSpace, ObjectiveComparison

if TYPE_CHECKING:
    import pandas as pd


def ideal_cost(reference: pd.DataFrame) -> pd.Series[float]:
    """Return the cost to divide by, a point; NaN where nothing was found (a found result costs more than 0)."""
    return reference["loss"].where(reference["found"] & (reference["loss"] > 0))


class RelativeCost(ObjectiveComparison):
    """The actual cost, perturbations included, over the ideal cost.

    Parameters
    ----------
    part, distribution, draws, over
        As those of the metric ``actual-cost``, whose values it needs.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3.
    """

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)
    over: Literal["fixable", "invalidated"] = "fixable"
    setbacks: ClassVar[str] = "normalised"

    def measures(self) -> tuple[str, ...]:
        """Name the actual cost with these settings."""
        settings = {name: getattr(self, name) for name in ("part", "distribution", "draws", "over", "setbacks")}
        return (f"actual-cost[{','.join(f'{name}={value}' for name, value in settings.items())}]",)

    def compare(self, points: pd.DataFrame, reference: pd.DataFrame, space: FeatureSpace) -> pd.Series[float]:  # noqa: ARG002 - the contract's parameters
        """Return the ratio a point; NaN where either side found nothing or the actual cost is absent."""
        ratio: pd.Series[float] = points[self.measures()[0]] / ideal_cost(reference)
        return ratio


class RawRelativeCost(RelativeCost):
    """The relative cost with setbacks in raw units, not divided by the range, as the published experiments had it.

    Decision: it is kept beside the right one, since it explains the published relative costs of two orders of
    magnitude.
    """

    setbacks: ClassVar[str] = "raw"
