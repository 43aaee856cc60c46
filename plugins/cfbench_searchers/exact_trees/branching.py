"""Step 4: best-first branch and bound over boxes of cells."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from cfbench.forests import ForestNodes
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.exact_trees.bound import budget_bound, pruned, settle
from cfbench_searchers.exact_trees.pairs import looked_through
from cfbench_searchers.exact_trees.task import SLACK, CheapestPoint, ForestTask


class CellBox(NamedTuple):
    """A box of cells.

    Parameters
    ----------
    low, high : ndarray of int64, shape (d,)
        The lowest and the highest cell of each feature.
    forest : ForestNodes
        What a larger box has left of the trees.
    tops : ndarray of float64, shape (T, K)
        The largest lead over each class that a tree has in a larger box.
    """

    low: IntArray
    high: IntArray
    forest: ForestNodes
    tops: FloatArray


@dataclass(eq=False)
class BranchAndBound:
    """The search for a cheaper counterfactual than the task's best, and for the proof that there is none.

    The box with the lowest bound is looked at first, so this bound is at any time one on the cost of every
    counterfactual that is cheaper than the best known one.

    Parameters
    ----------
    task : ForestTask
    lower_bound : float
        A bound that is known already; raised on the way. Infinite in the end, where there is proven to be none.

    Attributes
    ----------
    boxes : int
        Looked at so far.

    References
    ----------
    Land and Doig, "An automatic method of solving discrete programming problems", Econometrica 28(3), 1960. Optimal
    counterfactuals on tree ensembles by a mixed-integer model: Parmentier and Vidal, "Optimal counterfactual
    explanations in tree ensembles", ICML 2021 (OCEAN).
    """

    task: ForestTask
    lower_bound: float
    boxes: int = field(default=0, init=False)

    def run(self) -> None:
        """Search until the proof is there.

        Raises
        ------
        OutOfTime
            Before; the task's best and `lower_bound` are what they are by then.
        """
        task, numbers = self.task, count()
        shares = task.structure.shares
        tops = np.full((len(task.structure.roots), shares.shape[1]), shares.max() - shares.min())
        whole = CellBox(np.zeros(task.d, dtype=np.int64), task.structure.n_cells - 1, task.structure.walked, tops)
        waiting = [(self.lower_bound, next(numbers), whole)]
        while waiting and waiting[0][0] < self._limit:
            self.lower_bound = waiting[0][0]
            task.check_time()
            bound, _, part = heapq.heappop(waiting)
            needed, parts = self._look_at(part)
            for one in parts:
                heapq.heappush(waiting, (max(bound, needed), next(numbers), one))
        self.lower_bound = np.inf if task.best is None else task.best.cost

    @cached_property
    def _highest_cost(self) -> float:
        """More than any point costs."""
        parts = np.split(self.task.costs.cost, self.task.costs.first[1:-1])
        return float(sum(part[np.isfinite(part)].max() for part in parts)) + 1e-9

    @property
    def _limit(self) -> float:
        """Upper limit for the cost of a useful point; finite."""
        return min(self.task.limit, self._highest_cost)

    def _look_at(self, part: CellBox) -> tuple[float, list[CellBox]]:
        """Bound a box and cut it; return the bound, and its parts, none where there is nothing to look for."""
        low, high, forest, tops = part.low, part.high, part.forest, part.tops.copy()
        task, costs = self.task, self.task.costs
        price, cells, pull = np.empty(task.d), np.empty(task.d, dtype=np.int64), np.empty(task.d)
        spent = settle(costs, low, high, self._limit, price, cells)
        self.boxes += 1
        if not spent < self._limit:
            return np.inf, []
        if task.is_target(cells):
            found = CheapestPoint(costs.total(cells), cells)
            task.offer(found)
            if found.cost <= spent + SLACK or not spent < self._limit:
                return np.inf, []
        depth, box, budget = task.structure.depth, (low, high, price), (spent, self._limit, task.structure.rounding)
        reached = np.zeros(len(forest.nodes), dtype=bool)
        needed = float(budget_bound(forest, depth, task.target, costs, box, *budget, reached, tops, pull))
        if not needed < self._limit:
            return np.inf, []
        if looked_through(task, low, high):
            return np.inf, []
        left = pruned(forest, depth, reached, low, high)
        return needed, [CellBox(*sides, left, tops) for sides in self._sides(low, high, pull)]

    def _sides(self, low: IntArray, high: IntArray, pull: FloatArray) -> list[tuple[IntArray, IntArray]]:
        """Cut a box: into a feature's cheapest cell and what lies on its sides, or else a feature in two.

        First decide whether a feature changes at all, for the feature on which most leads depend, because the first
        step of a change costs most. Then decide how far the changing features move.
        """
        rest = self.task.costs.rest
        wide, free = high > low, (low <= rest) & (rest <= high)
        if not wide.any():
            return []
        undecided = wide & free & (pull > 0)
        # If no lead depends on any feature, the widest one.
        score = np.where(undecided if undecided.any() else wide, pull + 1e-9 * (high - low), -1.0)
        f = int(np.argmax(score))
        a, b, at = int(low[f]), int(high[f]), int(rest[f])
        middle = (a + b) // 2
        spans = [(at, at), (a, at - 1), (at + 1, b)] if free[f] else [(a, middle), (middle + 1, b)]
        parts = []
        for start, stop in spans:
            if start <= stop:
                part = (low.copy(), high.copy())
                part[0][f], part[1][f] = start, stop
                parts.append(part)
        return parts
