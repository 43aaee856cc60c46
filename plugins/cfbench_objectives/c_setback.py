"""The objective `c`: the loss of a candidate that is set back as far as the annotation allows, and walks again."""

from __future__ import annotations

from cfbench import FeatureSpace, FloatArray, IntArray, Objective, ObjectiveContext, Reach, Setbacks, Term
from cfbench_objectives.remarks import nothing_to_fear


class SetbackAware(Objective):
    """Minimise the loss with Gower's distance taken at ``z - w_max``, `w_max` the maximal C-setback.

    The number of changed features and the class stay those of `z`. It asks nothing of the model. Where no feature is
    ever perturbed it adds nothing.

    Decision: a changed category that a perturbation may turn into another costs one more mismatch, ``1/d`` in Gower's
    distance; the text defines setbacks for numerical features only.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    definition of the optimal counterfactual example under C-setbacks, and section "Incorporating robustness in the
    loss".
    """

    def bind(self, context: ObjectiveContext) -> Term | None:
        """Return the term ``(1/2) (1/d) sum_C |w_i| / range_i``; None where nothing is ever perturbed."""
        if not Reach.of(context.space).moves_anything:
            return None
        setbacks = Setbacks(context.space, context.x)

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG001 - a term receives both
            half: FloatArray = 0.5 * setbacks.detour(Z)
            return half

        return term

    def remark(self, space: FeatureSpace) -> str:
        """Say where there is nothing to be robust against."""
        return nothing_to_fear(space)
