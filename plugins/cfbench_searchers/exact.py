"""What the exact searchers share: objectives that they can minimise, the limit, and a check of what they return."""

from __future__ import annotations

import time
from abc import abstractmethod

import numpy as np
from pydantic import Field

from cfbench import CfbenchError, Problem, Searcher
from cfbench.errors import ModelError
from cfbench.space import FloatArray

NONE_EXISTS = "proven: there is no counterfactual"
"""The reason if all feasible points are known to be of other classes."""


class ExactSearcher(Searcher):
    """A searcher that reads the model and proves that nothing is cheaper than what it returns.

    Parameters
    ----------
    seconds : float
        Wall-clock limit of the search. What it has found by then is returned, with the lower bound of that time.
    """

    seconds: float = Field(default=60.0, gt=0)

    @abstractmethod
    def solve(self, problem: Problem, end: float) -> FloatArray | None:
        """Return the optimum, or the best point found until `end`, by ``time.perf_counter``; report the figures.

        None where no point was found. If there is proven to be none, the problem is given the reason.
        """

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the optimum; None if there is provably none, or none was found in time.

        Raises
        ------
        CfbenchError
            If the objective's term is not a sum over the features.
        UnavailableError
            If the model does not show what the searcher reads.
        ModelError
            If the model gives the optimum another class than its structure does.
        """
        if problem.has_term and problem.separable_term is None:
            raise CfbenchError(
                "exact searchers minimise the loss and terms that are sums over the features; this objective's term is "
                "not a sum"
            )
        # A proof replaces it.
        problem.give_reason(f"the limit of {self.seconds:g} s was reached before a counterfactual or a proof")
        z = self.solve(problem, time.perf_counter() + self.seconds)
        if z is None:
            return None
        answered = int(problem.predict(z[np.newaxis])[0])
        if answered != problem.target or not problem.is_feasible(z[np.newaxis])[0]:
            raise ModelError(
                f"the model's structure has class {problem.target} for the feasible row {z.tolist()}, the model says "
                f"class {answered}: the structure is not the model's, and nothing is proven"
            )
        return z
