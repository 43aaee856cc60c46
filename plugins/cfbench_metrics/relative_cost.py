"""Costs relative to the same searcher's result under objective ``none``."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from cfbench import ComparisonContext, Found, Metric, Reference
from cfbench.space import FloatArray
from cfbench_metrics.aftermath import Over

PLAIN = Reference(objective="none")


def ideal_cost(reference: Found) -> FloatArray:
    """Return the cost to divide by, per point; NaN where nothing was found (a found result costs more than 0)."""
    return np.where(reference.is_found & (reference.loss > 0), reference.loss, np.nan)


class RelativeCost(Metric):
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

    reference = PLAIN

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)
    over: Over = "all"
    l0: bool = False
    setbacks: ClassVar[str] = "normalised"

    def needs(self) -> tuple[str, ...]:
        """Name the actual cost with these settings, and the share of draws that cannot be walked back."""
        shared = f"part={self.part},distribution={self.distribution},draws={self.draws}"
        l0 = str(self.l0).lower()
        return (
            f"actual-cost[{shared},over={self.over},l0={l0},setbacks={self.setbacks}]",
            f"unfixable[{shared}]",
        )

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing or the actual cost is absent."""
        ratio: FloatArray = found.measured(self.needs()[0]) / ideal_cost(reference)
        return ratio


class RawRelativeCost(RelativeCost):
    """The relative cost with setbacks in raw units, not divided by the range.

    Decision: it is kept next to the normalised one, because it explains the published relative costs of two orders of
    magnitude. It reproduces the published reading for C under objective ``none`` only. For other objectives and for K
    the published experiments differ in more than the units; the metric ``relative-cost-published`` follows them.
    """

    setbacks: ClassVar[str] = "raw"


class CostOfRobustness(Metric):
    """The cost of the result over the ideal cost, without any perturbation: what accounting for robustness costs.

    Below 1 where the search under objective ``none`` missed the best.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 3 and the appendix on additional cost.
    """

    reference = PLAIN

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing."""
        ratio: FloatArray = found.loss / ideal_cost(reference)
        return ratio


class TimeOfRobustness(Metric):
    """The seconds that a search took beyond those under objective ``none``; negative where it was faster.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    appendix on additional runtime.
    """

    reference = PLAIN

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the difference per point; NaN where either side found nothing."""
        return np.where(found.is_found & reference.is_found, found.seconds - reference.seconds, np.nan)


class PublishedRelativeCost(Metric):
    """1 plus the published additional cost over the result's own loss.

    Decision: the published reading is kept next to the paper's definition, so that the two can be compared on the same
    results. It differs in four points.

    - The cost is divided by the loss of the result itself, also where the search accounted for robustness. The text
      divides by the ideal cost.
    - Setbacks of changed features are in raw units; their mean is over all draws.
    - The mean for kept features is over the invalidated draws alone, those that cannot be walked back included. It is
      0 where no draw is invalidated.
    - For both it is the sum of these two means, not a mean over joint draws.

    A changed category that is set back counts as a mismatch here, as in the text. The published experiments counted
    the random share of a mismatch that they had added to the category's code.

    Parameters
    ----------
    part, distribution, draws
        As those of the metric ``additional-cost``, whose values it needs.
    """

    reference = PLAIN

    part: Literal["c", "k", "ck"] = "k"
    distribution: Literal["uniform", "normal"] = "uniform"
    draws: int = Field(default=100, ge=1, le=1_000_000)

    def needs(self) -> tuple[str, ...]:
        """Name the mean costs whose sum it takes, and the share of draws that cannot be walked back."""
        shared = f"distribution={self.distribution},draws={self.draws}"
        of_c = (f"additional-cost[part=c,{shared},setbacks=raw]",)
        of_k = (f"additional-cost[part=k,{shared},over=invalidated]", f"invalidity[part=k,{shared}]")
        means = {"c": of_c, "k": of_k, "ck": of_c + of_k}[self.part]
        return (*means, f"unfixable[part={self.part},{shared}]")

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the ratio per point; NaN where either side found nothing or a mean cost was not measured."""
        solved = found.is_found & reference.is_found & (found.loss > 0)
        ratio, loss = np.where(solved, 1.0, np.nan), np.where(solved, found.loss, np.nan)
        means = list(self.needs()[:-1])
        if self.part != "k":
            ratio += found.measured(means.pop(0)) / loss
        if self.part != "c":
            over_invalidated, invalidity = means
            # A mean over invalidated draws is absent where there are none.
            mean = np.where(found.measured(invalidity) == 0, 0.0, found.measured(over_invalidated))
            ratio += mean / loss
        return ratio
