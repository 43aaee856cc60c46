"""The way through the steps: each raises the lower bound, until it meets the cost of the best point."""

from __future__ import annotations

from functools import cache

import numpy as np

from cfbench import Problem
from cfbench.forests import toy_forest
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.exact import report_none_exists, report_result
from cfbench_searchers.exact_trees.bound import pruned
from cfbench_searchers.exact_trees.branching import BranchAndBound
from cfbench_searchers.exact_trees.pairs import cost_of_changes, no_change, one_change, two_changes
from cfbench_searchers.exact_trees.task import SLACK, CellCosts, CheapestPoint, ForestTask, OutOfTime, cell_costs


def descend(task: ForestTask) -> None:
    """Move greedily to the target class, by two rules, and undo changes that were not needed."""
    for per_cost in (True, False):
        cells = _climb(task, per_cost=per_cost)
        if cells is not None:
            task.offer(_given_back(task, CheapestPoint(task.costs.total(cells), cells)))


def _climb(task: ForestTask, *, per_cost: bool) -> IntArray | None:
    """Move one feature after the other to where the target's lead grows most; None where it stops growing first.

    Parameters
    ----------
    task : ForestTask
    per_cost : bool
        Whether it is the growth per cost that counts, or the growth alone.
    """
    cells = task.costs.rest.copy()
    while not task.is_target(cells):
        best_rate, best_move = 0.0, None
        for feature in range(task.d):
            own, here = task.costs.of(feature), int(cells[feature])
            leads = task.leads(cells, feature)
            # Growth beyond what wins is of no use.
            growth = np.where(np.isfinite(own), np.minimum(leads, task.structure.rounding) - leads[here], 0.0)
            rates = growth / np.maximum(own - own[here], 1e-6) if per_cost else growth
            cell = int(np.argmax(rates))
            if growth[cell] > task.structure.rounding and rates[cell] > best_rate:
                best_rate, best_move = float(rates[cell]), (feature, cell)
            task.check_time()
        if best_move is None:
            return None
        cells[best_move[0]] = best_move[1]
    return cells


def _given_back(task: ForestTask, best: CheapestPoint) -> CheapestPoint:
    """Move features back, the most expensive first, as far as the target class allows, until no move is left."""
    while True:
        before = best.cost
        own = task.costs.cost[task.costs.first[:-1] + best.cells]
        for feature in np.argsort(-own, kind="stable"):
            best = task.cheapest_along(best.cells, int(feature), best.cost - SLACK) or best
            task.check_time()
        if best.cost >= before:
            return best


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
    structure = problem.forest
    target, costs = structure.place_of(problem.target), cell_costs(structure, problem)
    if target is None or not np.isfinite(costs.total(costs.rest)):
        why = "the forest never says the class" if target is None else "a feature has no feasible value"
        report_none_exists(problem, why)
        return None
    task = ForestTask(structure, costs, target, end)
    least_costs = cost_of_changes(task)
    steps = BranchAndBound(task, float(least_costs[0]))
    try:
        _go_through(steps, least_costs)
        proven = True
    except OutOfTime:
        proven = False
    lower = steps.lower_bound if task.best is None else min(steps.lower_bound, task.best.cost)
    report_result(problem, proven=proven, lower_bound=lower, boxes=steps.boxes)
    return None if task.best is None else costs.point(task.best.cells)


def _go_through(steps: BranchAndBound, least_costs: FloatArray) -> None:
    """Raise the lower bound step by step until it meets the best cost, or infinity where there is no counterfactual.

    Parameters
    ----------
    steps : BranchAndBound
    least_costs : ndarray of float64
        What points with at least k changed features cost at least.
    """
    task = steps.task
    for changes, look in enumerate((no_change, one_change, two_changes)):
        if not look(task):
            break
        # All points with so many changes are known, and those with more cost at least as much as this.
        cheapest_left = float(least_costs[min(changes + 1, task.d + 1)])
        steps.lower_bound = min(cheapest_left, np.inf if task.best is None else task.best.cost)
        if np.isinf(cheapest_left) or (task.best is not None and task.best.cost <= cheapest_left + SLACK):
            return
    if task.best is None:
        descend(task)
    steps.run()


@cache
def warm_up() -> None:
    """Call every kernel: from the lower left corner to class 1, which takes two changes."""
    two = np.array([0.0, 1.0] * 3)
    costs = CellCosts(np.array([0, 2, 4, 6]), two, two, np.zeros(3, dtype=np.int64), two, 0.0 * two, np.ones(3))
    for steps in ([one_change, two_changes], [descend], []):
        task = ForestTask(toy_forest(), costs, 1, np.inf)
        for step in steps:
            step(task)
        BranchAndBound(task, 0.0).run()
        assert task.best is not None
    toy, corner = toy_forest(), np.zeros(3, dtype=np.int64)
    everything = np.ones(len(toy.nodes), dtype=bool)
    assert len(pruned(toy.walked, toy.depth, everything, corner, corner).nodes) == 2  # a leaf a tree
