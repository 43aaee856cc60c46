"""The objective `ck`: robustness of changed and of kept features together."""

from __future__ import annotations

from pydantic import Field

from cfbench import ObjectiveContext
from cfbench.problem import Term
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.c_setback import SetbackAware
from cfbench_objectives.k_score import MOST_DRAWS, NeighbourAware
from cfbench_objectives.loss import RobustObjective


class BothAware(RobustObjective):
    """Minimise the loss plus the terms of the objectives `c` and `k`.

    Parameters
    ----------
    m : int
        Neighbours a candidate, as in `k`. 0 amounts to the objective `c`.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", section
    "Incorporating robustness in the loss".
    """

    m: int = Field(default=64, ge=0, le=MOST_DRAWS)

    def bind(self, context: ObjectiveContext) -> Term | None:
        """Return the sum of both terms; None where nothing is ever perturbed."""
        setback, neighbours = SetbackAware().bind(context), NeighbourAware(m=self.m).bind(context)
        if setback is None or neighbours is None:
            return setback

        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            return setback(Z, classes) + neighbours(Z, classes)

        return term

    def rows_per_candidate(self) -> int:
        """Return `m`; the term of `c` asks nothing."""
        return self.m

    def draws_per_candidate(self) -> int:
        """Return `m`."""
        return self.m

    def amounts_to(self) -> str:
        """Return ``c`` for ``m = 0``."""
        return "" if self.m else "c"
