"""Steps 1 and 2: the cheapest counterfactuals with one changed feature, and with two, by looking at all of them.

Most optima are among these, and what is dearer than three changes at their cheapest needs no further proof: without
robustness terms k changed features cost between ``k / 2d`` and ``k / d``, half of it for being changed at all.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.exact_forest.pairs import sweep_pair
from cfbench_searchers.exact_forest.task import Best, ForestTask

MOST_PAIRS_OF_CELLS = 2_000_000
"""Above, a pair of features is left to branch and bound; the two-dimensional array would take too much memory."""


def cost_of_changes(task: ForestTask) -> FloatArray:
    """Return what points with at least k changed features cost at least, for k from 0 to d + 1; infinite if none is."""
    added = np.sort(task.costs.other - task.costs.cost[task.costs.first[:-1] + task.costs.rest])
    return np.concatenate([task.costs.total(task.costs.rest) + np.cumsum([0.0, *added]), [np.inf]])


def no_change(task: ForestTask) -> bool:
    """Offer the cheapest point of all, which is `x` wherever `x` is plausible; True: there is no other to look at."""
    if task.is_target(task.costs.rest):
        task.offer(Best(task.costs.total(task.costs.rest), task.costs.rest))
    return True


def one_change(task: ForestTask) -> bool:
    """Offer the cheapest counterfactual with one changed feature; True: every feature was looked at."""
    for feature in np.argsort(task.costs.other, kind="stable"):
        task.offer(task.cheapest_along(task.costs.rest, int(feature), task.limit))
        task.check_time()
    return True


def two_changes(task: ForestTask) -> bool:
    """Offer the cheapest counterfactual with two changed features; say whether every pair of interest was looked at."""
    added = task.costs.other - task.costs.cost[task.costs.first[:-1] + task.costs.rest]
    base, complete = task.costs.total(task.costs.rest), True
    for one, two in sorted(combinations(range(task.d), 2), key=lambda pair: added[pair[0]] + added[pair[1]]):
        if not base + added[one] + added[two] < task.limit:
            break
        if task.structure.is_coded[one]:
            _coded_pair(task, one, two)
        elif task.structure.is_coded[two]:
            _coded_pair(task, two, one)
        else:
            complete &= _ordered_pair(task, one, two)
        task.check_time()
    return complete


def _coded_pair(task: ForestTask, coded: int, along: int) -> None:
    """Move one feature to each of its categories and sweep the other one."""
    own, rest = task.costs.of(coded), int(task.costs.rest[coded])
    for cell in np.flatnonzero(np.isfinite(own)):
        if cell != rest:
            moved = task.costs.rest.copy()
            moved[coded] = cell
            task.offer(task.cheapest_along(moved, along, task.limit))


def _ordered_pair(task: ForestTask, one: int, two: int) -> bool:
    """Look at all pairs of cells of two ordered features that may be cheap enough; say whether that was possible."""
    both, rest = (task.costs.of(one), task.costs.of(two)), task.costs.rest
    held = task.costs.total(rest) - both[0][rest[one]] - both[1][rest[two]]
    spans: list[int] = []
    for own, other in (both, both[::-1]):
        near = np.flatnonzero(held + own + other.min() < task.limit)
        spans += [int(near[0]), int(near[-1])]
    pairs = (spans[1] - spans[0] + 1) * (spans[3] - spans[2] + 1)
    if pairs * len(task.structure.classes) > MOST_PAIRS_OF_CELLS:
        return False
    sweep_pair(task, rest, (one, two), (spans[0], spans[1], spans[2], spans[3]))
    return True
