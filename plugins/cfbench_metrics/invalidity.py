"""How often random perturbations make a result invalid."""

from __future__ import annotations

from cfbench import FeatureSpace, FloatArray
from cfbench_metrics.aftermath import Aftermath, AfterPerturbation


class Invalidity(AfterPerturbation):
    """The share of perturbed points that are no longer of the target class, in [0, 1].

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    appendix on invalidity.
    """

    def summarise(self, aftermath: Aftermath, space: FeatureSpace) -> FloatArray:  # noqa: ARG002 - the contract's parameters
        """Return the share of each result, shape (n,)."""
        share: FloatArray = (~aftermath.valid).mean(axis=1)
        return share
