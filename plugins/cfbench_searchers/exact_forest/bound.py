"""Bounds for branch and bound over boxes of cells: a box's own cost, and the budget that its trees need.

The budget bound. Suppose a point of the box has the target class and costs less than C. Each tree's leaf is then one
that can be reached for less than C, so its lead is at most the largest lead among those: the *best lead for less than
C*. If these add up to less than nothing for some rival, there is no such point. So the smallest C at which they do not,
for all rivals, is a lower bound on the cost of every counterfactual in the box. It relaxes the problem by letting each
tree spend the whole budget on its own, as linear relaxations of a forest's mixed-integer model do, at the price of one
walk.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench import compiled_or_plain, inlined_or_plain

STEPS = 32
"""Into how many steps the budget between a box's own cost and the best known cost is cut."""

_SAFE = 1e-9
"""A leaf counts as reachable this share of a step early, so that rounding never makes a bound too high."""


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
    """Cut off the cells of a box that are too dear, and find its cheapest point.

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
        Filled: how much of the trees' leads hangs on each feature.
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
def best_leads(
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
    path, stage, kept_low, kept_high, kept_price, cost = way
    lead, n_needed = -np.inf, 0
    at, path[0], stage[0], cost[0] = 0, root, 0, spent
    while at >= 0:
        node, side = path[at], stage[at]
        f = nodes[node, 0]
        if f < 0:
            own = keep_lead(shares, nodes[node, 2], target, (cost[at] - spent) / step, best)
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
        child = nodes[node, 2 + side]
        if child >= 0 and narrow(costs, f, nodes[node, 1], side, low, high, price):
            total = cost[at] - kept_price[at] + price[f]
            if total < limit:
                at += 1
                path[at], stage[at], cost[at] = child, 0, total
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
def narrow(costs: Any, f: int, cut: Any, side: int, low: Any, high: Any, price: Any) -> bool:
    """Narrow a feature's cells to those that a split sends to one side, and raise its price; say if any are left."""
    if cut < 0:
        return narrow_to_code(costs, f, -1 - cut, side, low, high, price)
    if side == 0 and high[f] > cut:
        high[f] = cut
    elif side == 1 and low[f] <= cut:
        low[f] = cut + 1
    else:
        return True
    if low[f] > high[f]:
        return False
    price[f] = max(price[f], least_cost(costs, f, low[f], high[f]))
    return True


@inlined_or_plain
def narrow_to_code(costs: Any, f: int, cell: int, side: int, low: Any, high: Any, price: Any) -> bool:
    """Narrow a coded feature to one cell (side 1), or to all others (side 0)."""
    rest = costs.rest[f]
    if side == 0:
        if low[f] == cell:
            low[f] += 1
        elif high[f] == cell:
            high[f] -= 1
        if cell == rest:
            price[f] = max(price[f], costs.other[f])
        return bool(low[f] <= high[f])
    # A way that has left the cheapest cell out cannot come back to it.
    if cell < low[f] or cell > high[f] or (cell == rest and price[f] > costs.cost[costs.first[f] + rest]):
        return False
    low[f], high[f] = cell, cell
    price[f] = costs.cost[costs.first[f] + cell]
    return True
