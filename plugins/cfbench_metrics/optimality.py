"""How far a result is from the proven optimum, and from a reference searcher's result."""

from __future__ import annotations

import numpy as np

from cfbench import ComparisonContext, Found, Metric, Reference
from cfbench.space import FloatArray

UNPROVEN = "no optimum is proven, so that the gap is to a lower bound: at most what is shown"
UNBOUNDED = "the exact searcher reports no lower bound, so that there is no gap"
NO_COUNTERFACTUAL = "the exact searcher proved that there is no counterfactual, or that its value is 0"


class OptimalityGap(Metric):
    """``(value - bound) / bound`` of the best repetition, per point: how far its objective value is above the optimum.

    The bound is what the exact searcher of the model's kind reports as its lower bound: the optimum where that is
    proven; where it is not, something below it, so that the gap is at most this. A gap of 0.001 or less counts as none.

    References
    ----------
    The relative gap of mathematical programming.
    """

    reference = Reference(searcher=("exact-trees", "exact-linear"))

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the gap per point: 0.01 is one percent above the optimum.

        NaN where nothing was found, and where the reference has no lower bound or one of 0, which leaves nothing to
        divide by.
        """
        bound = _bounds(reference)
        gap: FloatArray = (np.where(found.is_found, found.objective_value, np.nan) - bound) / bound
        return gap

    def remarks(self, reference: Found) -> dict[str, int]:
        """Tell points without a proof from those that are proven to have no counterfactual."""
        proven = reference.figure("proven") == 1
        bounded = ~np.isnan(_bounds(reference))
        counts = {UNPROVEN: bounded & ~proven, UNBOUNDED: ~bounded & ~proven, NO_COUNTERFACTUAL: ~bounded & proven}
        return {sentence: int(points.sum()) for sentence, points in counts.items() if points.any()}


def _bounds(reference: Found) -> FloatArray:
    """Return the lower bounds that there is something to divide by."""
    reported = reference.figure("lower_bound")
    return np.where(reported > 0, reported, np.nan)


class RelativeLoss(Metric):
    """``(loss - reference loss) / reference loss`` of the best repetition, per point.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    section that benchmarks the searchers without robustness.
    """

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the change per point: 0.5 is half as much again as the reference.

        NaN where either side found nothing, and where the reference's loss is 0, which leaves nothing to divide by.
        """
        base = np.where(reference.is_found & (reference.loss > 0), reference.loss, np.nan)
        change: FloatArray = (found.loss - base) / base
        return change
