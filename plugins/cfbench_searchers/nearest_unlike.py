"""The nearest unlike neighbour: the closest real case that the model puts into the target class."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import numpy as np

from cfbench import Best, BudgetExhausted, PrepareContext, Problem, Searcher
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray


class NearestUnlike(Searcher):
    """Return the closest feasible row of the training fold that the model puts into the target class.

    The preparation queries the model for every training row. A search makes one query, for its result. With an
    objective that adds a term, "closest" is what has the smallest value, and a search evaluates every feasible row of
    the target class, from near to far; under an objective with draws, the smallest mean value among those that
    `cfbench.Best` re-evaluates.

    References
    ----------
    The nearest unlike neighbour of case-based reasoning: Dasarathy, "Nearest unlike neighbor (NUN): an aid to decision
    confidence estimation", Optical Engineering 34(9), 1995.
    """

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Query the model for all training rows; return the search among those of the target class."""
        assert context.training is not None  # the entry needs it
        rows = context.training.X
        return partial(_search, rows[context.predict(rows) == context.target])


def _search(rows: FloatArray, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG001 - draws nothing
    """Return the closest of the feasible rows; None without one. All `rows` are of the target class."""
    rows = rows[problem.is_feasible(rows)]
    if not len(rows):
        return None
    rows = rows[np.argsort(problem.distance(rows), kind="stable")]
    best = Best(problem)
    with suppress(BudgetExhausted):
        best.evaluate(rows if problem.has_term else rows[:1])
    return best.choose()
