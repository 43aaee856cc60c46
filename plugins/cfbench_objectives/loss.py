"""The objective `none`: the loss alone, without any term for robustness."""

from __future__ import annotations

from cfbench import Objective, ObjectiveContext
from cfbench.problem import Term


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
