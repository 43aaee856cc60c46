"""The provably cheapest counterfactual on a forest: exact, by looking at its trees."""

from __future__ import annotations

import time

import numpy as np
from pydantic import Field

from cfbench import CfbenchError, PrepareContext, Problem, Searcher
from cfbench.errors import ModelError
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray


class ExactForest(Searcher):
    """Find the cheapest counterfactual on a forest, and prove that none is cheaper.

    Four steps: all points that differ from `x` in one feature; all that differ in two; a good point with more changes,
    by greedy moves; branch and bound on the rest. It ends with the first step that leaves nothing to prove. It asks the
    model for one row: the class of what it returns.

    It minimises the loss, and objectives whose term is a sum over the features (`SeparableTerm`).

    Figures reported: ``proven``, 1 or 0; ``lower_bound``, which no counterfactual's objective value is below (absent
    where there is proven to be no counterfactual); ``boxes``, those that branch and bound looked at.

    Parameters
    ----------
    seconds : float
        Wall-clock limit of the search. What it has found by then is returned, with the lower bound of that time.

    References
    ----------
    Parmentier and Vidal, "Optimal counterfactual explanations in tree ensembles", ICML 2021, solve the problem by a
    mixed-integer model. The cost is Eq. 9 of Virgolin and Fracaros, "On the robustness of sparse counterfactual
    explanations to adverse perturbations".
    """

    seconds: float = Field(default=60.0, gt=0)

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Lay the forest open, and compile what reads it.

        Raises
        ------
        UnavailableError
            If the model shows no forest.
        """
        from cfbench_searchers.exact_forest.solving import warm_up  # it loads a compiler, where there is one

        _ = context.forest.depth
        warm_up()
        return self.search

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:  # noqa: ARG002 - draws nothing
        """Return the optimum; None if there is provably none, or none was found in time.

        Raises
        ------
        UnavailableError
            If the model shows no forest.
        ModelError
            If the model gives the optimum another class than its forest does.
        """
        from cfbench_searchers.exact_forest.solving import solve  # it loads a compiler, where there is one

        if problem.has_term and problem.separable_term is None:
            raise CfbenchError(
                "exact-forest minimises the loss and terms that are sums over the features; this objective's term is "
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
                f"the forest's structure has class {problem.target} for the feasible row {z.tolist()}, the model says "
                f"class {answered}: the structure is not the model's, and nothing is proven"
            )
        return z
