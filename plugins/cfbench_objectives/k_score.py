"""The objective `k`: the loss with a penalty where perturbations of the kept features would cost the class."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import ObjectiveContext
from cfbench.problem import Term
from cfbench.robustness import KNeighbours, Reach
from cfbench.space import FloatArray, IntArray
from cfbench_objectives.loss import RobustObjective

JUDGE_DRAWS = 1000
"""Neighbours that the judge takes, whatever `m` is: results of different `m` are ranked alike."""

MOST_DRAWS = 1_000_000
"""More neighbours a candidate are refused: a population of them fits into no memory, and no count of rows."""


class NeighbourAware(RobustObjective):
    """Minimise the loss plus ``(1/2) (1 - score)``, `score` the share of random K-neighbours with the class of `z`.

    K are the features that a candidate keeps; its neighbours differ from it in those alone, uniformly within the
    annotated perturbations. Every candidate is scored, whatever its class, and asks `m` rows. Where no feature is ever
    perturbed it adds nothing.

    Decision: the draws come from a stream of their own, never from the searcher's generator. They are keyed by the
    search and by the number of the evaluation in it, so they do not depend on how candidates are batched. The judge
    takes 1,000 draws from a stream of the factual point's, the same for all candidates, searchers and repetitions.

    Values are noisy, so searchers re-evaluate their best candidates before they return one (`cfbench.Best`), each with
    at least 1,024 draws: ``ceil(1024 / m)`` evaluations.

    Parameters
    ----------
    m : int
        Neighbours a candidate. 0 amounts to the objective `none`: no term, no draws.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", the
    K-robustness score, and section "Incorporating robustness in the loss".
    """

    m: int = Field(default=64, ge=0, le=MOST_DRAWS)

    def bind(self, context: ObjectiveContext) -> Term | None:
        """Return the term for one search; None where nothing is ever perturbed, and for ``m = 0``."""
        if self.m == 0 or not Reach.of(context.space).moves_anything:
            return None
        return judged_penalty(context) if context.judging else penalty(context, self.m)

    def rows_per_candidate(self) -> int:
        """Return `m`."""
        return self.m

    def draws_per_candidate(self) -> int:
        """Return `m`."""
        return self.m

    def amounts_to(self) -> str:
        """Return ``none`` for ``m = 0``."""
        return "" if self.m else "none"


def penalty(context: ObjectiveContext, m: int) -> Term:
    """Return the search's term: each evaluated candidate is another evaluation, with its own draws."""
    neighbours = KNeighbours(context.space, context.x, context.stream, m)
    evaluations = 0

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        nonlocal evaluations
        answers = context.predict_neighbours(Z, neighbours.starting(evaluations))
        evaluations += len(Z)
        return half_of_lost(answers, classes)

    return term


def judged_penalty(context: ObjectiveContext) -> Term:
    """Return the judge's term: every candidate meets the same draws."""
    neighbours = KNeighbours(context.space, context.x, context.stream, JUDGE_DRAWS)

    def term(Z: FloatArray, classes: IntArray) -> FloatArray:
        answers = [context.predict_neighbours(z[np.newaxis], neighbours)[0] for z in Z]
        return half_of_lost(np.array(answers), classes)

    return term


def half_of_lost(answers: IntArray, classes: IntArray) -> FloatArray:
    """Return half of the share of neighbours, shape (n, m), that are of another class than their candidate."""
    lost: FloatArray = 0.5 * (answers != classes[:, np.newaxis]).mean(axis=1)
    return lost
