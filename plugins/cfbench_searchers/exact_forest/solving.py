"""The way through the steps: each raises the lower bound, until it meets the cost of the best point."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray, Problem, forest_of
from cfbench_searchers.exact_forest.branching import BranchAndBound
from cfbench_searchers.exact_forest.costs import cell_costs
from cfbench_searchers.exact_forest.descent import descend
from cfbench_searchers.exact_forest.few_changes import cost_of_changes, no_change, one_change, two_changes
from cfbench_searchers.exact_forest.task import SLACK, ForestTask, OutOfTime

NONE_EXISTS = "proven: there is no counterfactual"
"""What is said where all plausible points are known to be of other classes."""


def solve(problem: Problem, end: float) -> FloatArray | None:
    """Go through the steps until nothing is left to prove, or time is up; report the figures.

    Where there is proven to be no counterfactual, the problem is given the reason.

    Parameters
    ----------
    problem : Problem
    end : float
        When time is up, by ``time.perf_counter``.

    Returns
    -------
    ndarray of float64, shape (d,), or None
        The cheapest point found that the forest puts into the target class.

    Raises
    ------
    UnavailableError
        If the model shows no forest.
    """
    structure = forest_of(problem.model)
    target, costs = structure.place_of(problem.target), cell_costs(structure, problem)
    if target is None or not np.isfinite(costs.total(costs.rest)):
        problem.report("proven", 1.0)
        why = "the forest never says the class" if target is None else "a feature has no plausible value"
        problem.give_reason(f"{NONE_EXISTS}: {why}")
        return None
    task = ForestTask(structure, costs, target, end)
    dearer = cost_of_changes(task)
    steps = BranchAndBound(task, float(dearer[0]))
    try:
        _go_through(steps, dearer)
        proven = True
    except OutOfTime:
        proven = False
    lower = steps.lower_bound if task.best is None else min(steps.lower_bound, task.best.cost)
    if np.isfinite(lower):
        problem.report("lower_bound", lower)
    problem.report("proven", float(proven))
    problem.report("boxes", float(steps.boxes))
    if proven:
        problem.give_reason(NONE_EXISTS)
    return None if task.best is None else costs.point(task.best.cells)


def _go_through(steps: BranchAndBound, dearer: FloatArray) -> None:
    """Raise the lower bound step by step until it meets the best cost, or infinity where there is no counterfactual.

    Parameters
    ----------
    steps : BranchAndBound
    dearer : ndarray of float64
        What points with at least k changed features cost at least.
    """
    task = steps.task
    for changes, look in enumerate((no_change, one_change, two_changes)):
        if not look(task):
            break
        # All points with so many changes are known, and those with more cost at least as much as this.
        cheapest_left = float(dearer[min(changes + 1, task.d + 1)])
        steps.lower_bound = min(cheapest_left, np.inf if task.best is None else task.best.cost)
        if np.isinf(cheapest_left) or (task.best is not None and task.best.cost <= cheapest_left + SLACK):
            return
    if task.best is None:
        descend(task)
    steps.run()
