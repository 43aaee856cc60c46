"""Step 3: a good counterfactual with many changes, where few do not suffice: what branch and bound has to beat."""

from __future__ import annotations

import numpy as np

from cfbench import IntArray
from cfbench_searchers.exact_forest.task import SLACK, Best, ForestTask


def descend(task: ForestTask) -> None:
    """Climb to the target class greedily, by two rules, and give back what was not needed."""
    for per_cost in (True, False):
        cells = _climb(task, per_cost=per_cost)
        if cells is not None:
            task.offer(_given_back(task, Best(task.costs.total(cells), cells)))


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


def _given_back(task: ForestTask, best: Best) -> Best:
    """Move features back, the dearest first, as far as the target class allows, until nothing can be given back."""
    while True:
        before = best.cost
        own = task.costs.cost[task.costs.first[:-1] + best.cells]
        for feature in np.argsort(-own, kind="stable"):
            best = task.cheapest_along(best.cells, int(feature), best.cost - SLACK) or best
            task.check_time()
        if best.cost >= before:
            return best
