"""The nearest unlike neighbour: the closest real case that the model puts into the target class."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from cfbench import Best, BudgetExhausted, Problem, Searcher
from cfbench.space import FloatArray


class NearestUnlike(Searcher):
    """Return the closest feasible point of the training fold that the model puts into the target class.

    It evaluates each feasible training point once. With an objective that adds a term, "closest" is what has the
    smallest value; under an objective with draws, the smallest mean value among those that `cfbench.Best` re-evaluates.

    References
    ----------
    The nearest unlike neighbour of case-based reasoning: Dasarathy, "Nearest unlike neighbor (NUN): an aid to decision
    confidence estimation", Optical Engineering 34(9), 1995.
    """

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the training point; None where no feasible one is of the target class."""
        assert problem.training is not None  # the entry needs it
        cases = problem.training.X
        cases = cases[problem.is_feasible(cases)]
        # From near to far, so that a query budget that does not reach for all of them is spent on the nearest.
        cases = cases[np.argsort(problem.distance(cases), kind="stable")]
        best = Best(problem)
        if len(cases):
            with suppress(BudgetExhausted):
                best.evaluate(cases)
        return best.choose()
