"""The objective `c`: the loss of a candidate that is set back as far as the annotation allows, and walks again."""

from __future__ import annotations

import numpy as np

from cfbench import ObjectiveContext
from cfbench.problem import Term
from cfbench.robustness import Reach, Setbacks
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.loss import RobustObjective


class SetbackAware(RobustObjective):
    """Minimise the loss with Gower's distance taken at ``z - w_max``, `w_max` the maximal C-setback.

    The number of changed features and the class stay those of `z`. It asks nothing of the model. Where no feature is
    ever perturbed it adds nothing.

    Decision: a changed category that a perturbation may turn into another costs one more mismatch, ``1/d`` in Gower's
    distance; the text defines setbacks for numerical features only. It is charged as well where a relation forbids the
    way back from that category: what cannot be walked has no defined price, and `fixability` counts such cases.

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
        return SetbackTerm(context)

    def draws_per_candidate(self) -> int:
        """Return 0: the largest setback is the same for equal candidates."""
        return 0


class SetbackTerm:
    """The term of one search: a sum over the features, since each is set back on its own.

    Parameters
    ----------
    context : ObjectiveContext

    Attributes
    ----------
    breaks : tuple of ndarray of float64
        Between them the part of a feature, ``min(p_i, |z_i - x_i|)``, is the smaller of two linear functions.
    """

    def __init__(self, context: ObjectiveContext) -> None:
        self._setbacks = Setbacks(context.space, context.x)
        self._d = context.space.d
        relative = Reach.of(context.space).relative
        self.breaks = tuple(
            np.array([x, 0.0] if scales else [x]) for x, scales in zip(context.x, relative, strict=True)
        )

    def parts(self, Z: FloatArray) -> FloatArray:
        """Return each feature's part, ``(1/2) (1/d) |w_i| / range_i``, shape (n, d)."""
        parts: FloatArray = 0.5 * self._setbacks.walked_again(Z) / self._d
        return parts

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG002 - a term receives both
        """Return the term, shape (n,)."""
        half: FloatArray = 0.5 * self._setbacks.detour(Z)
        return half
