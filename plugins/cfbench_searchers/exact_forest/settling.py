"""The cheapest point of a box of cells, and the cells that are too dear to be of interest."""

from __future__ import annotations

from typing import Any

from cfbench import compiled_or_plain, inlined_or_plain


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
