"""What the bounds of a sheet settle, and where to cut the box that they leave open."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.forests.compiling import compiled_or_plain
from cfbench.forests.walks import class_of_cells


@compiled_or_plain
def spreads_of(forest: Any, target: int) -> Any:
    """Return how much the target's leads differ among the leaves below each node, added up over its rivals."""
    nodes, shares = forest.nodes, forest.shares
    order, waiting, seen = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes) + 1, dtype=np.int64), 0
    for root in forest.roots:
        waiting[0], count = root, 1
        while count > 0:
            count -= 1
            node = waiting[count]
            order[seen] = node
            seen += 1
            if nodes[node, 0] >= 0:
                waiting[count], waiting[count + 1] = nodes[node, 2], nodes[node, 3]
                count += 2
    n_classes = shares.shape[1]
    lowest, highest = np.full((len(nodes), n_classes), np.inf), np.full((len(nodes), n_classes), -np.inf)
    spread = np.zeros(len(nodes))
    for i in range(seen - 1, -1, -1):
        node = order[i]
        for k in range(n_classes):
            if nodes[node, 0] < 0:
                lead = shares[nodes[node, 2], target] - shares[nodes[node, 2], k]
                lowest[node, k], highest[node, k] = lead, lead
            else:
                left, right = nodes[node, 2], nodes[node, 3]
                lowest[node, k] = min(lowest[left, k], lowest[right, k])
                highest[node, k] = max(highest[left, k], highest[right, k])
            spread[node] += highest[node, k] - lowest[node, k]
    return spread


@compiled_or_plain
def settle_cells(
    forest: Any, target: int, cells: Any, pair: Any, mass: Any, clear: Any, least: Any, most: Any, counted: bool
) -> Any:
    """Add up the probability of the cells of a sheet in which the class is kept for certain, or lost for certain.

    Parameters
    ----------
    forest : ForestNodes
    target : int
    cells : ndarray of int64, shape (d,)
        The lowest cells of the box, those of the sheet's corner among them.
    pair : (int, int)
    mass : (ndarray, ndarray)
        Probability of the sheet's rows and columns.
    clear : (float, float)
        Leads from the first number on win, those below the second do not.
    least, most : ndarray of float64, shape (n, m)
    counted : bool
        Whether nothing beyond the sheet matters, so that cells in between are looked at one by one.

    Returns
    -------
    kept, lost : float, float
    top, bottom, left, right : int
        The rectangle around all cells that are open; `bottom` is below 0 where there are none.
    """
    (n, m), moved, kept, lost = least.shape, cells.copy(), 0.0, 0.0
    top, bottom, left, right = n, -1, m, -1
    for i in range(n):
        of_row, lost_of_row = 0.0, 0.0
        for j in range(m):
            wins, loses = least[i, j] >= clear[0], most[i, j] < clear[1]
            if counted and not (wins or loses):
                if pair[0] >= 0:
                    moved[pair[0]] = cells[pair[0]] + i
                if pair[1] >= 0:
                    moved[pair[1]] = cells[pair[1]] + j
                wins = class_of_cells(forest, moved) == target
                loses = not wins
            if wins:
                of_row += mass[1][j]
            elif loses:
                lost_of_row += mass[1][j]
            elif mass[0][i] * mass[1][j] > 0:
                top, bottom, left, right = min(top, i), i, min(left, j), max(right, j)
        kept += of_row * mass[0][i]
        lost += lost_of_row * mass[0][i]
    return kept, lost, top, bottom, left, right


@compiled_or_plain
def where_to_cut(pull: Any, first: Any, is_coded: Any) -> Any:
    """Return how much there is to gain at each feature, and where: on the average, or where most for a coded one.

    Parameters
    ----------
    pull : ndarray of float64, shape (cells,)
    first : ndarray of int64, shape (d + 1,)
    is_coded : ndarray of bool, shape (d,)
    """
    gains, places = np.zeros(len(is_coded)), np.zeros(len(is_coded))
    for f in range(len(is_coded)):
        most = 0.0
        for cell in range(first[f + 1] - first[f]):
            gain = pull[first[f] + cell]
            gains[f] += gain
            if not is_coded[f]:
                places[f] += gain * cell
            elif gain > most:
                most, places[f] = gain, cell
        if not is_coded[f] and gains[f] > 0:
            places[f] /= gains[f]
    return gains, places
