"""sparse-sweep: a black-box searcher that looks at few features at a time, and knows when that is enough."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from pydantic import Field

from cfbench import BudgetExhausted, CfbenchError, FloatArray, Problem, Searcher
from cfbench_searchers.sparse_sweep.explore import explore
from cfbench_searchers.sparse_sweep.inquiry import Inquiry
from cfbench_searchers.sparse_sweep.order import Plan, steps
from cfbench_searchers.sparse_sweep.probe import anywhere, beyond, rests_on_draws
from cfbench_searchers.sparse_sweep.revert import WIDE
from cfbench_searchers.sparse_sweep.robust import Jury
from cfbench_searchers.sparse_sweep.sweep import sweep
from cfbench_searchers.sparse_sweep.terrain import Terrain

PROBED_FROM = 2_000
"""Evaluations that a budget has to hold before any are spent on finding out whether values rest on draws."""

BY_CLASS, FOR_MOVES = 20_000, 15_000
"""Where values rest on draws: candidates that the steps ask for their classes alone, and those that moves ask."""


class SparseSweep(Searcher):
    """Structured sweeps over one, two and three features, from `x` outwards.

    A counterfactual costs at least what the smallest change of each of its changed features costs, and a good one
    changes few. So single features are swept first, then what two and three of them do together; every set that costs
    at least as much as the best candidate is left out, and the search ends when none is left, or when nothing gains any
    more. With a query budget it goes on at random until that ends.

    A term of the objective that is a sum over the features is part of a candidate's cost. Any other is seen through its
    values alone: where equal rows have equal ones, values rank; where they rest on draws, the search goes by class, and
    what it meets is judged by rising numbers of draws.

    Parameters
    ----------
    n_rows : int
        Candidates that are asked at most where there is no query budget.
    n_levels : int
        Values of a numerical feature that the sweep tries, midpoints aside; fewer where there are very many features.
    n_starts : int
        Training rows of the target class from which features are put back.
    n_evaluations : int
        Evaluations of candidates at most where values rest on draws and there is no query budget. Each asks as many
        rows as the objective's setting says.

    References
    ----------
    Ours. Compare the one-feature and two-feature cells of exact searches in tree ensembles (Parmentier and Vidal,
    "Optimal counterfactual explanations in tree ensembles", ICML 2021); successive halving (Jamieson and Talwalkar,
    "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016); pattern search (Hooke and
    Jeeves, "Direct search solution of numerical and statistical problems", Journal of the ACM 8(2), 1961).
    """

    n_rows: int = Field(default=101_000, ge=1)
    n_levels: int = Field(default=300, ge=2)
    n_starts: int = Field(default=40, ge=1)
    n_evaluations: int = Field(default=4_600, ge=1)

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the best row of the target class; None if none was met."""
        plan = self._plan(problem, rng)
        evaluations = problem.evaluations_left
        allowance = self.n_rows if evaluations is None else None
        inquiry = Inquiry(problem, plan.terrain, allowance, by_value=False)
        with suppress(BudgetExhausted):
            if problem.has_term and problem.separable_term is None:
                if evaluations is None or evaluations >= PROBED_FROM:
                    sweep(inquiry)
                    if rests_on_draws(problem, np.concatenate([anywhere(inquiry, rng), beyond(inquiry)])):
                        return self._most_robust(problem, plan)
                inquiry = Inquiry(problem, plan.terrain, allowance, by_value=True)
            sweep(inquiry)
            for _ in steps(inquiry, plan):
                pass
            if evaluations is not None:
                for _ in explore(inquiry, rng):
                    pass
        return None if inquiry.best is None else inquiry.best.z

    def _most_robust(self, problem: Problem, plan: Plan) -> FloatArray | None:
        """Search by class, judge what is met after every step, and carry the best on."""
        left = problem.queries_left
        by_class = BY_CLASS if left is None else min(BY_CLASS, left // 5)
        inquiry = Inquiry(problem, plan.terrain, by_class, by_value=False, keeping=True)
        jury = Jury(problem, inquiry, self.n_evaluations if left is None else None)
        with suppress(BudgetExhausted):
            sweep(inquiry)
            jury.hear()
            for _ in steps(inquiry, plan):
                jury.hear()
        inquiry.allow(FOR_MOVES if left is None else None)
        jury.conclude()
        if left is not None:
            with suppress(BudgetExhausted):
                for _ in explore(inquiry, plan.rng):
                    jury.conclude()
        if jury.best is not None:
            return jury.best
        return None if inquiry.best is None else inquiry.best.z

    def _plan(self, problem: Problem, rng: np.random.Generator) -> Plan:
        try:
            training = problem.training
        except CfbenchError:  # this study has none to give
            training = None
        d = problem.space.d
        few = self.n_rows * 3 // (20 * d)  # with the midpoints, single features take a third of the rows
        n_levels = self.n_levels if d <= WIDE else int(np.clip(few, 2, self.n_levels))
        terrain = Terrain(problem, training, n_levels)
        return Plan(terrain, training, problem.target, self.n_starts, self.n_rows * 3 // 10, rng)
