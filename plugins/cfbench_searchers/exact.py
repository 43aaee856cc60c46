"""What the exact searchers share: objectives that they can minimise, costs, the limit, figures, and a check."""

from __future__ import annotations

import time
from abc import abstractmethod

import numpy as np
from pydantic import Field

from cfbench import CfbenchError, Problem, Searcher
from cfbench.errors import ModelError
from cfbench.problem import SeparableTerm
from cfbench.space import BoolArray, FloatArray, IntArray

_NONE_EXISTS = "proven: there is no counterfactual"
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


def report_result(problem: Problem, *, proven: bool, lower_bound: float, boxes: int) -> None:
    """Report the figures of a search; a proof also gives the reason for the case that there is no counterfactual.

    Parameters
    ----------
    problem : Problem
    proven : bool
    lower_bound : float
        What no counterfactual costs less than; infinite if there is proven to be no counterfactual.
    boxes : int
        The parts that branch and bound looked at.
    """
    if np.isfinite(lower_bound):
        problem.report("lower_bound", lower_bound)
    problem.report("proven", float(proven))
    problem.report("boxes", float(boxes))
    if proven:
        problem.give_reason(_NONE_EXISTS)


def report_none_exists(problem: Problem, why: str) -> None:
    """Report that there is proven to be no counterfactual, without any search."""
    problem.report("proven", 1.0)
    problem.give_reason(f"{_NONE_EXISTS}: {why}")


def costs_of_values(
    problem: Problem, f: int | IntArray, values: FloatArray, changed: BoolArray, term: SeparableTerm | None
) -> FloatArray:
    """Return what values of feature `f` add to the objective, shape (n,): to Eq. 9, and to the objective's term.

    Parameters
    ----------
    problem : Problem
    f : int or ndarray of int64, shape (n,)
        The feature of all values, or of each value.
    values : ndarray of float64, shape (n,)
    changed : ndarray of bool, shape (n,)
        Which values count as changes.
    term : SeparableTerm or None
    """
    space, x = problem.space, problem.x
    gower = np.where(space.is_categorical[f], changed, np.abs(values - x[f]) / space.ranges[f])
    costs: FloatArray = (0.5 * gower + 0.5 * changed) / space.d
    if term is None:
        return costs
    at = np.arange(len(values))
    rows = np.tile(x, (len(values), 1))
    rows[at, f] = values
    costs += term.parts(rows)[at, f]
    return costs
