"""The compiled question about K-neighbours, which are drawn here, feature by feature, where the forest asks."""

from __future__ import annotations

from typing import Any

import numpy as np

import cfbench
from cfbench_models.cell_kernels import are_single, cell_of, count_below
from cfbench_models.forest_kernels import ROWS, compiled, room_for_walks, set_by_cells, set_constant, vote

# The core's own definitions, compiled: the draws have the same bits with and without numba.
descended_key = compiled(cfbench.descended_key)
uniform_share = compiled(cfbench.uniform_share)
perturbed_value = compiled(cfbench.perturbed_value)


@compiled
def draw_numbers(forest: Any, f: int, reach: Any, z: float, keys: Any, cells: Any) -> Any:
    """Draw the cells of one kept numerical feature.

    Returns
    -------
    tuple of int
        Between which cells the drawn ones lie; where they are the same, nothing was drawn.
    """
    i = forest.features[f]
    scale = abs(z) if reach.relative[i] else 1.0
    lowest, highest = -reach.decrease[i] * scale, reach.increase[i] * scale
    lower, upper = reach.lower[i], reach.upper[i]
    # Every operation of a move is monotone in the share, rounding included.
    low = cell_of(forest, f, perturbed_value(z, 0.0, lowest, highest, lower, upper))
    high = cell_of(forest, f, perturbed_value(z, 1.0, lowest, highest, lower, upper))
    if low < high:
        for j in range(len(keys)):
            share = uniform_share(descended_key(keys[j], np.uint64(i)))
            number = np.float32(perturbed_value(z, share, lowest, highest, lower, upper))
            cells[j] = count_below(forest, f, number)
    return low, high


@compiled
def draw_categories(forest: Any, f: int, reach: Any, keys: Any, cells: Any) -> Any:
    """Draw the cells of one kept categorical feature; return the smallest and the largest."""
    i = forest.features[f]
    first = reach.first_code[i]
    count = reach.first_code[i + 1] - first
    low: Any = np.int64(2**32)
    high: Any = np.int64(0)
    for j in range(len(keys)):
        code = reach.codes[first + int(uniform_share(descended_key(keys[j], np.uint64(i))) * count)]
        cell = cell_of(forest, f, float(code))
        cells[j] = cell
        low, high = min(low, cell), max(high, cell)
    return low, high


@compiled
def set_neighbour_masks(forest: Any, reach: Any, z: Any, x: Any, keys: Any, cells: Any, masks: Any) -> None:
    """Set all masks for up to 64 neighbours of `z` with these keys; `cells` is room for theirs."""
    for f in range(len(forest.features)):
        i = forest.features[f]
        kept = z[i] == x[i]
        if kept and reach.first_code[i + 1] > reach.first_code[i]:
            low, high = draw_categories(forest, f, reach, keys, cells)
        elif kept and (reach.decrease[i] > 0 or reach.increase[i] > 0):
            low, high = draw_numbers(forest, f, reach, z[i], keys, cells)
        else:
            low = high = cell_of(forest, f, z[i])
        if low < high:
            set_by_cells(forest, f, low, high, cells[: len(keys)], masks)
        else:
            set_constant(forest, f, low, masks)


@compiled
def classes_of_neighbours(forest: Any, reach: Any, Z: Any, x: Any, evaluations: Any, m: int) -> Any:
    """Answer the m uniform K-neighbours of each row of `Z`.

    Parameters
    ----------
    forest : ForestTables
    reach : NeighbourReach
    Z : ndarray of float64, shape (n, d)
    x : ndarray of float64, shape (d,)
    evaluations : ndarray of uint64, shape (n,)
        Their keys.
    m : int

    Returns
    -------
    ndarray of int64, shape (n, m), or None
        Positions among the forest's classes; None where a number may be beyond float32.
    """
    if not (are_single(Z) and are_single(reach.lower) and are_single(reach.upper)):
        return None
    winners = np.empty((len(Z), m), dtype=np.int64)
    masks, room = room_for_walks(forest)
    sums = np.empty((len(forest.shares), ROWS))
    keys, cells = np.empty(ROWS, dtype=np.uint64), np.empty(ROWS, dtype=np.uint32)
    for i in range(len(Z)):
        for first in range(0, m, ROWS):
            count = min(ROWS, m - first)
            for j in range(count):
                keys[j] = descended_key(evaluations[i], np.uint64(first + j))
            set_neighbour_masks(forest, reach, Z[i], x, keys[:count], cells, masks)
            vote(forest, masks, room, sums, winners[i, first : first + count])
    return winners
