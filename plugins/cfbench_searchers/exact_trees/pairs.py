"""Steps 1 and 2: the cheapest counterfactuals with one changed feature, and with two, by complete enumeration."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

from cfbench.compilation import compiled_or_plain
from cfbench.forests import ForestNodes, class_of_cells, entered, leads_of_pair
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.exact_trees.task import CheapestPoint, ForestTask

STEPS_A_TREE = 60
"""Steps that a tree takes in a sweep, about."""

MOST_STEPS = 2_000_000
"""A box is small where looking at all of its points takes so many; bounding the parts of it would take longer."""


def sweep_pair(
    task: ForestTask,
    cells: IntArray,
    pair: tuple[int, int],
    spans: tuple[int, int, int, int],
    entry: tuple[ForestNodes, FloatArray] | None = None,
) -> None:
    """Offer the cheapest counterfactual that has the given cells in all features but two.

    Parameters
    ----------
    task : ForestTask
    cells : ndarray of int64, shape (d,)
    pair : (int, int)
        The two, ordered ones.
    spans : (int, int, int, int)
        Lowest and highest cell of the first, then of the second.
    entry : (ForestNodes, ndarray of float64), optional
        The forest with roots where all these points come by, and the votes of the trees that are settled before.
    """
    costs = task.costs.cost[task.costs.first[:-1] + cells]
    costs[list(pair)] = 0.0
    below = task.limit - float(costs.sum())
    both = (task.costs.of(pair[0]), task.costs.of(pair[1]))
    if not both[0][spans[0] : spans[1] + 1].min() + both[1][spans[2] : spans[3] + 1].min() < below:
        return
    walked = task.structure.walked
    forest, settled = entry or (walked, np.zeros(len(task.structure.classes)))
    leads = leads_of_pair(forest, task.structure.depth, cells, pair, task.target, spans, settled)
    found = cheapest_pair(walked, cells, pair, task.target, spans, both, below, task.structure.rounding, leads)
    if found[0] < below:
        moved = cells.copy()
        moved[list(pair)] = found[1:]
        task.offer(CheapestPoint(task.costs.total(moved), moved))


def looked_through(task: ForestTask, low: IntArray, high: IntArray) -> bool:
    """Offer the cheapest counterfactual of a box by looking at all of its points; False: it is too large for that."""
    ordered = np.flatnonzero(~task.structure.is_coded)
    if len(ordered) < 2:
        return False
    widths = high - low + 1
    one, two = (int(f) for f in ordered[np.argsort(-widths[ordered], kind="stable")[:2]])
    others = [f for f in range(task.d) if widths[f] > 1 and f not in (one, two)]
    sweeps = widths[others].prod(dtype=np.float64)
    cells = float(widths[one]) * float(widths[two]) * (len(task.structure.classes) - 1)
    if sweeps * (STEPS_A_TREE * len(task.structure.roots) + cells) > MOST_STEPS:
        return False
    spans = (int(low[one]), int(high[one]), int(low[two]), int(high[two]))
    walked, settled = task.structure.walked, np.zeros(len(task.structure.classes))
    entries = np.empty(len(walked.roots), dtype=np.int32)
    entry = (walked._replace(roots=entries[: entered(walked, low, high, entries, settled)]), settled)
    for combination in product(*(range(low[f], high[f] + 1) for f in others)):
        point = low.copy()
        point[others] = combination
        sweep_pair(task, point, (one, two), spans, entry)
    return True


@compiled_or_plain
def cheapest_pair(
    forest: Any, cells: Any, pair: Any, target: int, spans: Any, costs: Any, below: float, rounding: float, leads: Any
) -> Any:
    """Return the cheapest pair of cells with the target class, whose leads are known.

    Parameters
    ----------
    costs : (ndarray, ndarray)
        Of all cells of each feature.
    below : float
        More expensive pairs are ignored.
    rounding : float
        A lead that is not below minus this is looked at exactly.

    Returns
    -------
    cost, first cell, second cell : float, int, int
        The cost is `below` where no pair is cheaper.
    """
    moved, best = cells.copy(), below
    best_one, best_two = cells[pair[0]], cells[pair[1]]
    for i in range(leads.shape[0]):
        for j in range(leads.shape[1]):
            cost = costs[0][spans[0] + i] + costs[1][spans[2] + j]
            if cost < best and leads[i, j] >= -rounding:
                moved[pair[0]], moved[pair[1]] = spans[0] + i, spans[2] + j
                if class_of_cells(forest, moved) == target:
                    best, best_one, best_two = cost, moved[pair[0]], moved[pair[1]]
    return best, best_one, best_two


MOST_PAIRS_OF_CELLS = 2_000_000
"""Above, a pair of features is left to branch and bound; the two-dimensional array would take too much memory."""


def cost_of_changes(task: ForestTask) -> FloatArray:
    """Return what points with at least k changed features cost at least, for k from 0 to d + 1; infinite if none is."""
    added = np.sort(task.costs.other - task.costs.cost[task.costs.first[:-1] + task.costs.rest])
    return np.concatenate([task.costs.total(task.costs.rest) + np.cumsum([0.0, *added]), [np.inf]])


def no_change(task: ForestTask) -> bool:
    """Offer the cheapest point of all, which is `x` wherever `x` is feasible; True: there is no other to look at."""
    if task.is_target(task.costs.rest):
        task.offer(CheapestPoint(task.costs.total(task.costs.rest), task.costs.rest))
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
    fixed = task.costs.total(rest) - both[0][rest[one]] - both[1][rest[two]]
    spans: list[int] = []
    for own, other in (both, both[::-1]):
        near = np.flatnonzero(fixed + own + other.min() < task.limit)
        spans += [int(near[0]), int(near[-1])]
    pairs = (spans[1] - spans[0] + 1) * (spans[3] - spans[2] + 1)
    if pairs * len(task.structure.classes) > MOST_PAIRS_OF_CELLS:
        return False
    sweep_pair(task, rest, (one, two), (spans[0], spans[1], spans[2], spans[3]))
    return True
