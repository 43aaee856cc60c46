"""All pairs of cells of two ordered features at once, and all points of a small box by these."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from cfbench import FloatArray, ForestNodes, IntArray, class_of_cells, compiled_or_plain, entered, leads_of_pair
from cfbench_searchers.exact_forest.task import Best, ForestTask

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
        task.offer(Best(task.costs.total(moved), moved))


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
        Dearer pairs are of no interest.
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
