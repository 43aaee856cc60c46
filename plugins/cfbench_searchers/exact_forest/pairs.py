"""The cheapest pair of cells of two features that has the target class."""

from __future__ import annotations

from typing import Any

from cfbench import class_of_cells, compiled_or_plain


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
