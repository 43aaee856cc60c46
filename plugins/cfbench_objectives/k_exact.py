"""The objective `k-exact`: as `k`, with the exact probability of keeping the class in place of a sampled score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from cfbench import CfbenchError, Need, ObjectiveContext
from cfbench.linear import LinearStructure, Structure, probability_of, structure_of
from cfbench.problem import Term
from cfbench.robustness import Reach
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.loss import RobustObjective


class ExactlyNeighbourAware(RobustObjective):
    """Minimise the loss plus ``(1/2) (1 - p)``, `p` the probability that a uniform K-perturbation keeps the class.

    Where `k` estimates `p` by the share of 64 draws, with a noise that a search can be misled by, this encloses it in
    an interval and takes its middle. It looks into the model, which has to be a forest or linear, and makes no query. A
    candidate takes milliseconds to seconds: it is for searches with few candidates. Where no feature is ever perturbed
    it adds nothing.

    Parameters
    ----------
    width : float
        Of the interval, at most; the term is right to a quarter of it. 0 for all digits.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    K-robustness score, and section "Incorporating robustness in the loss".
    """

    needs_one_of: ClassVar[tuple[Need, ...]] = (Need.FOREST, Need.LINEAR)

    width: float = Field(default=0.01, ge=0, lt=1)

    def bind(self, context: ObjectiveContext) -> Term | None:
        """Return the term for one search; None where nothing is ever perturbed.

        Raises
        ------
        CfbenchError
            If the model is not at hand.
        UnavailableError
            If it shows neither trees nor weights.
        """
        if not Reach.of(context.space).moves_anything:
            return None
        if context.model is None:
            raise CfbenchError("objective k-exact looks into the model, and this search gives none to look into")
        return _Penalty(context, structure_of(context.model), self.width)

    def draws_per_candidate(self) -> int:
        """Return 0: the probability is worked out, not sampled."""
        return 0


class _Penalty:
    """The term of one search; what was worked out once is kept: on forests by cells, and by which features are kept."""

    def __init__(self, context: ObjectiveContext, structure: Structure, width: float) -> None:
        self._context = context
        self._structure = structure
        self._width = width
        self._kept: dict[tuple[bytes, int], float] = {}

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:
        cells = Z if isinstance(self._structure, LinearStructure) else self._structure.cells(Z)
        lost = np.empty(len(Z))
        for i, z in enumerate(Z):
            # Of changed features only the cells matter, and those that are kept have the values of x.
            key = (cells[i].tobytes() + (z == self._context.x).tobytes(), int(classes[i]))
            if key not in self._kept:
                self._kept[key] = 1 - self._probability(z, int(classes[i]))
            lost[i] = self._kept[key]
        return 0.5 * lost

    def _probability(self, z: FloatArray, code: int) -> float:
        context = self._context
        return probability_of(self._structure, context.space, context.x, z, code, width=self._width).middle
