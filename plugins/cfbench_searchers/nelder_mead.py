"""Nelder-Mead: SciPy's simplex search, started from `x`."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from pydantic import Field

from cfbench import BudgetExhausted, FloatArray, Problem, Searcher
from cfbench_searchers.incumbent import Incumbent
from cfbench_searchers.plausible_box import PlausibleBox


class NelderMead(Searcher):
    """SciPy's Nelder-Mead method, with its default parameters but for the number of iterations.

    It starts from `x`, inside bounds that are the plausible box, and draws no random numbers. Decision: categories are
    moved as numbers, and every vertex is asked about with its categories rounded, since the model is not defined
    between them.

    Parameters
    ----------
    n_iterations : int

    References
    ----------
    Nelder and Mead, "A simplex method for function minimization", The Computer Journal 7(4), 1965; Gao and Han,
    "Implementing the Nelder-Mead simplex algorithm with adaptive parameters", Computational Optimization and
    Applications 51, 2012.
    """

    n_iterations: int = Field(default=100, ge=1)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the best vertex of the target class; None if there was none."""
        from scipy.optimize import Bounds, minimize

        best = Incumbent(problem)
        box = PlausibleBox(problem)

        def value(vertex: FloatArray) -> float:
            return float(best.ask(box.nearest(vertex)[np.newaxis])[0])

        with suppress(BudgetExhausted):
            minimize(
                value,
                box.nearest(problem.x),
                method="Nelder-Mead",
                bounds=Bounds(box.lower, box.upper),
                options={"maxiter": self.n_iterations},
            )
        return best.z
