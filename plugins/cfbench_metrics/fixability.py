"""How often the result is still within reach after a random perturbation."""

from __future__ import annotations

from cfbench import FeatureSpace, FloatArray
from cfbench_metrics.aftermath import Aftermath, AfterPerturbation


class Fixability(AfterPerturbation):
    """The share of draws that keep the target class or can be walked back to the result within the constraints.

    Setbacks of changed features always can: they point back along the way that was walked.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", research
    question 2.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = aftermath.fixable.mean(axis=1)
        return share


class Unfixable(AfterPerturbation):
    """The share of draws that lose the target class and cannot be walked back to the result: 1 - fixability.

    Costs count such draws as if the way back were allowed. So this share is shown next to each cost.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = (~aftermath.fixable).mean(axis=1)
        return share
