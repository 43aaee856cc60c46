"""Branch and bound over boxes of cells: the budget bound, the cheapest point of a box, and trees cut to a box.

The budget bound. Suppose a point of the box has the target class and costs less than C. Each tree's leaf is then one
that can be reached for less than C; if their votes cannot make the class, no such point exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench.compilation import compiled_or_plain, inlined_or_plain
from cfbench.forests import ForestNodes, only_side
from cfbench.space import IntArray

STEPS = 32
"""Into how many steps the budget between a box's own cost and the best known cost is cut."""

_SAFE = 1e-9
"""A leaf counts as reachable this share of a step early, so that rounding never makes a bound too high."""


@compiled_or_plain
def budget_bound(
    forest: Any,
    depth: int,
    target: int,
    costs: Any,
    box: Any,
    spent: float,
    limit: float,
    rounding: float,
    reached: Any,
    tops: Any,
    pull: Any,
) -> Any:
    """Return a lower bound on the cost of the counterfactuals of a box; infinite where none is below the limit.

    Parameters
    ----------
    forest : ForestNodes
        A child of -1 leads nowhere.
    depth, target : int
    costs : CellCosts
    box : (ndarray, ndarray, ndarray)
        Lowest and highest cell of each feature, and lower bounds on its cost. Changed on the way, as before in the end.
    spent, limit : float
        The sum of these bounds, and the best known cost.
    rounding : float
        Leads above minus this count as enough.
    reached : ndarray of bool, shape (N,)
        All False; filled with the nodes on ways to leaves that can be reached below the limit.
    tops : ndarray of float64, shape (T, K)
        No point of a larger box has a larger lead in a tree over each class; lowered to what holds here. As soon as
        they cannot add up any more, the rest of the trees need not be walked.
    pull : ndarray of float64, shape (d,)
        Filled: how much of the trees' leads depends on each feature.
    """
    n_classes = forest.shares.shape[1]
    step = (limit - spent) / STEPS
    sums, best = np.zeros((n_classes, STEPS)), np.empty((n_classes, STEPS))
    own_price, needed = box[2].copy(), np.empty(depth + 2, dtype=np.int64)
    room = np.empty((4, depth + 2), dtype=np.int64)
    way = (room[0], room[1], room[2], room[3], np.empty(depth + 2), np.empty(depth + 2))
    pull[:] = 0.0
    hope = np.zeros(n_classes)
    for tree in range(len(tops)):
        hope += tops[tree]
    for tree in range(len(tops)):
        best[:] = -np.inf
        lead, n_needed = best_leads(
            forest,
            forest.roots[tree],
            target,
            costs,
            box,
            own_price,
            spent,
            limit,
            step,
            reached,
            best,
            needed,
            way,
        )
        cheap = np.inf
        for k in range(n_classes):
            if k != target:
                cheap = min(cheap, best[k, 0])
                most = -np.inf
                for b in range(STEPS):
                    most = max(most, best[k, b])
                    sums[k, b] += most
                hope[k] += most - tops[tree, k]
                tops[tree, k] = most
                if hope[k] < -rounding:
                    return np.inf
        gain = lead - max(cheap, -1.0)
        if gain > 0:
            for i in range(n_needed):
                pull[needed[i]] += gain
    for b in range(STEPS):
        enough = True
        for k in range(n_classes):
            if k != target and sums[k, b] < -rounding:
                enough = False
        if enough:
            return spent + b * step
    return np.inf


@compiled_or_plain
def best_leads(  # noqa: PLR0912, PLR0915 - one loop: what it called with arrays would cost more than it does
    forest: Any,
    root: Any,
    target: int,
    costs: Any,
    box: Any,
    own_price: Any,
    spent: float,
    limit: float,
    step: float,
    reached: Any,
    best: Any,
    needed: Any,
    way: Any,
) -> Any:
    """Walk all ways of one tree that are cheaper than the limit; keep the best lead by rival and step of the budget.

    Parameters
    ----------
    best : ndarray of float64, shape (K, STEPS)
        Raised to the largest lead over each rival among the leaves that cost so much.
    needed : ndarray of int64
        Filled with the features that the way to the leaf with the best lead pays for.
    way : tuple of ndarray
        Room for a way: nodes, sides tried, what its splits have narrowed (lowest and highest cell, price), costs.

    Returns
    -------
    lead, n_needed : float, int
        That lead, over the strongest rival; how many features.
    """
    nodes, shares = forest.nodes, forest.shares
    low, high, price = box
    path, stage, kept_low, kept_high, kept_price, paid = way
    # Taken out once, and used here alone: compiled code counts references where an array changes hands.
    first, rest, cost, other = costs.first, costs.rest, costs.cost, costs.other
    from_above, from_below = costs.from_above, costs.from_below
    lead, n_needed = -np.inf, 0
    at, path[0], stage[0], paid[0] = 0, root, 0, spent
    while at >= 0:
        node, side = path[at], stage[at]
        f = nodes[node, 0]
        if f < 0:
            own = keep_lead(shares, nodes[node, 2], target, (paid[at] - spent) / step, best)
            if own > lead:
                lead, n_needed = own, paid_for(nodes, path[:at], price, own_price, needed)
            above = at
            while above >= 0 and not reached[path[above]]:
                reached[path[above]] = True
                above -= 1
            at -= 1
            continue
        if side == 0:
            kept_low[at], kept_high[at], kept_price[at] = low[f], high[f], price[f]
        else:
            low[f], high[f], price[f] = kept_low[at], kept_high[at], kept_price[at]
        if side == 2:
            at -= 1
            continue
        stage[at] += 1
        child, cut = nodes[node, 2 + side], nodes[node, 1]
        if child < 0:
            continue
        a, b, least = low[f], high[f], price[f]
        if cut >= 0:
            if side == 0:
                b = min(b, cut)
            else:
                a = max(a, cut + 1)
            if a > b:
                continue
            if a != low[f] or b != high[f]:
                if a == b:
                    least = max(least, cost[first[f] + a])
                elif b < rest[f]:
                    least = max(least, from_below[first[f] + b])
                elif a > rest[f]:
                    least = max(least, from_above[first[f] + a])
        elif side == 0:  # all cells of a coded feature but one
            cell = -1 - cut
            if a == cell:
                a += 1
            elif b == cell:
                b -= 1
            if a > b:
                continue
            if cell == rest[f]:
                least = max(least, other[f])
        else:  # that cell alone; a way that has left the cheapest one out cannot come back to it
            cell = -1 - cut
            if cell < a or cell > b or (cell == rest[f] and least > cost[first[f] + cell]):
                continue
            a, b, least = cell, cell, cost[first[f] + cell]
        total = paid[at] - kept_price[at] + least
        if total < limit:
            low[f], high[f], price[f] = a, b, least
            at += 1
            path[at], stage[at], paid[at] = child, 0, total
    return lead, n_needed


@inlined_or_plain
def keep_lead(shares: Any, leaf: Any, target: int, steps: float, best: Any) -> Any:
    """Raise the best leads by those of one leaf, `steps` into the budget; return its lead over the strongest rival."""
    bin_ = min(max(int(steps - _SAFE), 0), STEPS - 1)
    least = np.inf
    for k in range(shares.shape[1]):
        if k != target:
            lead = shares[leaf, target] - shares[leaf, k]
            best[k, bin_] = max(best[k, bin_], lead)
            least = min(least, lead)
    return least


@compiled_or_plain
def paid_for(nodes: Any, path: Any, price: Any, own_price: Any, needed: Any) -> Any:
    """Fill `needed` with the features that a way pays more for than the box does; return how many."""
    count = 0
    for node in path:
        f = nodes[node, 0]
        if price[f] > own_price[f] and f not in needed[:count]:
            needed[count] = f
            count += 1
    return count


@inlined_or_plain
def least_cost(costs: Any, f: int, low: Any, high: Any) -> Any:
    """Return a lower bound on the cost of feature `f` in the cells `low` to `high`: exact but for the envelope."""
    first, rest = costs.first[f], costs.rest[f]
    if low == high:
        return costs.cost[first + low]
    if high < rest:
        return costs.from_below[first + high]
    if low > rest:
        return costs.from_above[first + low]
    return costs.cost[first + rest]


@compiled_or_plain
def settle(costs: Any, low: Any, high: Any, limit: float, price: Any, cells: Any) -> float:
    """Cut off the cells of a box that are too expensive, and find its cheapest point.

    Parameters
    ----------
    costs : CellCosts
    low, high : ndarray of int64, shape (d,)
        The box; made smaller.
    limit : float
        Points of this cost or a higher one are of no interest.
    price : ndarray of float64, shape (d,)
        Filled with a lower bound on the cost of each feature.
    cells : ndarray of int64, shape (d,)
        Filled with the cheapest cells.

    Returns
    -------
    float
        The lower bound on the cost of all points.
    """
    total = 0.0
    for f in range(len(low)):
        price[f] = least_cost(costs, f, low[f], high[f])
        total += price[f]
    for f in range(len(low)):
        first, others = costs.first[f], total - price[f]
        while low[f] < high[f] and not others + costs.cost[first + low[f]] < limit:
            low[f] += 1
        while low[f] < high[f] and not others + costs.cost[first + high[f]] < limit:
            high[f] -= 1
        cells[f] = min(max(costs.rest[f], low[f]), high[f])
        if costs.cost[first + cells[f]] > price[f]:
            for cell in range(low[f], high[f] + 1):
                if costs.cost[first + cell] < costs.cost[first + cells[f]]:
                    cells[f] = cell
    return total


WORTH_PRUNING = 0.75
"""Trees are copied if at most this many nodes are kept: a copy takes time, and memory while the box waits."""


def pruned(forest: ForestNodes, depth: int, reached: NDArray[np.bool_], low: IntArray, high: IntArray) -> ForestNodes:
    """Return a forest that is the same for all points of a box whose leaves are reached, with fewer nodes.

    Parameters
    ----------
    forest : ForestNodes
    depth : int
        Of its deepest tree.
    reached : ndarray of bool, shape (N,)
        The nodes on ways to leaves that matter; one such way in each tree at least.
    low, high : ndarray of int64, shape (d,)
        The box. Nodes that send all of it to one side are passed over.

    Returns
    -------
    ForestNodes
        -1 takes the place of a child that is gone. The given forest itself where that is hardly larger.
    """
    n_kept = int(kept_nodes(forest.nodes, reached, low, high))
    if n_kept > WORTH_PRUNING * len(forest.nodes):
        return forest
    nodes, roots = np.empty((n_kept, 4), dtype=np.int32), np.empty(len(forest.roots), dtype=np.int32)
    shares = np.empty((n_kept, forest.shares.shape[1]))
    made, n_leaves = copy_kept(forest, depth, reached, low, high, nodes, roots, shares)
    return ForestNodes(nodes[:made], roots, shares[:n_leaves].copy(), forest.rule)


@compiled_or_plain
def kept_nodes(nodes: Any, reached: Any, low: Any, high: Any) -> int:
    """Count the leaves that are reached, and the nodes that are and cut a box: so many are copied, or fewer."""
    kept = 0
    for node in range(len(nodes)):
        if reached[node] and (nodes[node, 0] < 0 or only_side(nodes, node, low, high) < 0):
            kept += 1
    return kept


@compiled_or_plain
def copy_kept(
    forest: Any, depth: int, reached: Any, low: Any, high: Any, nodes: Any, roots: Any, shares: Any
) -> tuple[int, int]:
    """Copy the nodes that :func:`kept_nodes` counts into `nodes`, `roots` and `shares`; return how many, and leaves."""
    waiting, parent = np.empty(depth + 2, dtype=np.int64), np.empty((depth + 2, 2), dtype=np.int64)
    made, n_leaves = 0, 0
    for tree in range(len(forest.roots)):
        waiting[0], parent[0, 0], count = forest.roots[tree], -1, 1
        while count > 0:
            count -= 1
            node = waiting[count]
            while forest.nodes[node, 0] >= 0:
                side = only_side(forest.nodes, node, low, high)
                if side < 0:
                    break
                node = forest.nodes[node, 2 + side]
            if parent[count, 0] < 0:
                roots[tree] = made
            else:
                nodes[parent[count, 0], parent[count, 1]] = made
            nodes[made, 0], nodes[made, 1] = forest.nodes[node, 0], forest.nodes[node, 1]
            nodes[made, 2], nodes[made, 3] = -1, -1
            if forest.nodes[node, 0] < 0:
                nodes[made, 2] = n_leaves
                shares[n_leaves] = forest.shares[forest.nodes[node, 2]]
                n_leaves += 1
            else:
                for side in (1, 0):
                    child = forest.nodes[node, 2 + side]
                    if child >= 0 and reached[child]:
                        waiting[count], parent[count, 0], parent[count, 1] = child, made, 2 + side
                        count += 1
            made += 1
    return made, n_leaves
