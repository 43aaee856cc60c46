"""The provably cheapest counterfactual on an ensemble of trees: exact, by looking at its trees."""

from __future__ import annotations

from cfbench import PrepareContext, Problem
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray
from cfbench_searchers.exact import ExactSearcher


class ExactTrees(ExactSearcher):
    """Find the cheapest counterfactual on an ensemble of trees, and prove that none is cheaper.

    Four steps: all points that differ from `x` in one feature; all that differ in two; a good point with more changes,
    by greedy moves; branch and bound on the rest. It ends with the first step that leaves nothing to prove. It queries
    the model for one row: the class of what it returns.

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

    def prepare(self, context: PrepareContext) -> SearchFunction:
        """Lay the forest open, and compile what reads it.

        Raises
        ------
        UnavailableError
            If the model shows no forest.
        """
        from cfbench_searchers.exact_trees.solving import warm_up  # it loads a compiler, where there is one

        _ = context.forest.depth
        warm_up()
        return self.search

    def solve(self, problem: Problem, end: float) -> FloatArray | None:
        """Return the best point found, and report the figures; see the module `solving`."""
        from cfbench_searchers.exact_trees.solving import solve  # it loads a compiler, where there is one

        return solve(problem, end)
