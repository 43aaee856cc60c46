"""The provably cheapest counterfactual on a linear model: exact, by reading its weights."""

from __future__ import annotations

import time

import numpy as np
from pydantic import Field

from cfbench import CfbenchError, PrepareContext, Problem, Searcher
from cfbench.errors import ModelError
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray


class ExactLinear(Searcher):
    """Find the cheapest counterfactual on a linear model, and prove that none is cheaper.

    Branch and bound over which features change and by which option; the bound is a linear problem with one inequality
    for each other class. It queries the model for the class of what it returns, and for rows so near to a tie that
    rounding decides.

    It minimises the loss, and objectives whose term is a sum over the features (`SeparableTerm`). Decision: the optimum
    of the real numbers lies on a tie between two classes. The returned row lies just past it, where the library's own
    sums give the target class. It costs at most 2e-9 more than the lower bound if it is reported as proven.

    Figures reported: ``proven``, 1 or 0; ``lower_bound``, which no counterfactual's objective value is below (absent
    if there is proven to be no counterfactual); ``boxes``, the parts that branch and bound looked at.

    Parameters
    ----------
    seconds : float
        Wall-clock limit of the search. What it has found by then is returned, with the lower bound of that time.

    References
    ----------
    Ustun, Spangher and Liu, "Actionable recourse in linear classification", FAT* 2019, solve the problem with two
    classes by a mixed-integer model. The cost is Eq. 9 of Virgolin and Fracaros, "On the robustness of sparse
    counterfactual explanations to adverse perturbations".
    """

    seconds: float = Field(default=60.0, gt=0)

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Read the weights, and compile what solves the relaxations.

        Raises
        ------
        UnavailableError
            If the model shows no linear structure.
        """
        from cfbench_searchers.exact_linear.solving import warm_up  # it loads a compiler, where there is one

        _ = context.linear.slopes
        warm_up()
        return self.search

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the optimum; None if there is provably none, or none was found in time.

        Raises
        ------
        UnavailableError
            If the model shows no linear structure.
        ModelError
            If the model gives the optimum another class than its structure does.
        """
        from cfbench_searchers.exact_linear.solving import solve  # it loads a compiler, where there is one

        if problem.has_term and problem.separable_term is None:
            raise CfbenchError(
                "exact-linear minimises the loss and terms that are sums over the features; this objective's term is "
                "not a sum"
            )
        # A proof replaces it.
        problem.give_reason(f"the limit of {self.seconds:g} s was reached before a counterfactual or a proof")
        z = solve(problem, time.perf_counter() + self.seconds)
        if z is None:
            return None
        answered = int(problem.predict(z[np.newaxis])[0])
        if answered != problem.target or not problem.is_feasible(z[np.newaxis])[0]:
            raise ModelError(
                f"the linear structure has class {problem.target} for the feasible row {z.tolist()}, the model says "
                f"class {answered}: the structure is not the model's, and nothing is proven"
            )
        return z
