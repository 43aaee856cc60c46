"""The objective `none`, the loss alone, and the base of those that add a term for robustness."""

from __future__ import annotations

from cfbench import FeatureSpace, Objective, ObjectiveContext
from cfbench.problem import Term
from cfbench.robustness import Reach


class LossAlone(Objective):
    """Minimise the loss as it stands: ``cost(z, x) + [f(z) != t]``.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", Eq. 9.
    """

    def bind(self, context: ObjectiveContext) -> Term | None:  # noqa: ARG002 - nothing is added, whatever the search
        """Return None: no term is added, no further row is queried."""
        return None

    def draws_per_candidate(self) -> int:
        """Return 0: there is no term."""
        return 0


class RobustObjective(Objective):
    """The loss plus a term that is about perturbations."""

    def remark(self, space: FeatureSpace) -> str:
        """Say that no feature of a space is ever perturbed; empty where one is."""
        if Reach.of(space).moves_anything:
            return ""
        return (
            "no feature is annotated with a perturbation, so every counterfactual is robust and the loss alone is "
            "minimised; annotate `perturbation` where the world may move"
        )
