"""The provably cheapest counterfactual on a linear model: exact, by reading its weights."""

from __future__ import annotations

from cfbench import PrepareContext, Problem
from cfbench.registry import SearchFunction
from cfbench.space import FloatArray
from cfbench_searchers.exact import ExactSearcher


class ExactLinear(ExactSearcher):
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

    def solve(self, problem: Problem, end: float) -> FloatArray | None:
        """Return the best point found, and report the figures; see the module `solving`."""
        from cfbench_searchers.exact_linear.solving import solve  # it loads a compiler, where there is one

        return solve(problem, end)
