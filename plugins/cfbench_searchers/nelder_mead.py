"""Nelder-Mead: SciPy's simplex search, started from `x`."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from pydantic import Field

from cfbench import Best, BudgetExhausted, Problem, Searcher
from cfbench.space import FloatArray


class NelderMead(Searcher):
    """SciPy's Nelder-Mead method, with its default parameters but for the number of iterations.

    It starts from `x`, inside bounds that are the feasible box, and draws no random numbers. Categories are moved and
    evaluated as numbers, and rounded at the end, as in the paper; where the rounded point has lost the class, nothing
    was found.

    Decision: under an objective with draws, the 10 best vertices are rounded, and the rounded points are re-evaluated
    (`cfbench.Best`). The best of those that keep the class is returned.

    It does not handle relations between features. Its first simplex reaches 5 % beyond `x`, and it contracts to `x` if
    no vertex is of the target class: with repaired vertices, or with an infinite value for infeasible ones, it found
    nothing where relations exclude most rows.

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
        """Return the best vertex of the target class, rounded; None if there was none."""
        from scipy.optimize import Bounds, minimize

        best = Best(problem)
        box = problem.box

        def value(vertex: FloatArray) -> float:
            return float(best.evaluate(box.inside(vertex)[np.newaxis])[0][0])

        with suppress(BudgetExhausted):
            minimize(
                value,
                box.inside(problem.x),
                method="Nelder-Mead",
                bounds=Bounds(box.lower, box.upper),
                options={"maxiter": self.n_iterations},
            )
        return best.choose(problem.project)
