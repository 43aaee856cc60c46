"""The compiled question about K-neighbours, which are drawn here, feature by feature, where the forest asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench.robustness import descended_key as core_descended_key
from cfbench.robustness import uniform_share as core_uniform_share
from cfbench_models.forest.candidate_kernels import NOWHERE, find_common, moves_number, number_between, set_boxes
from cfbench_models.forest.cell_kernels import (
    are_single,
    cell_of_category,
    cell_of_number,
    codes_of,
    compared,
    index_of,
)
from cfbench_models.forest.kernels import ALL, ROWS, room_for_walks, set_by_cells, set_constant, unpacked, vote

# The core's own definitions, compiled: the draws have the same bits with and without numba.
descended_key = compiled(core_descended_key)
uniform_share = compiled(core_uniform_share)


@compiled
def draw_numbers(index: Any, reach: Any, i: int, z: float, keys: Any, cells: Any) -> Any:
    """Draw the cells of one kept numerical feature.

    Parameters
    ----------
    index : tuple
        Of the feature's thresholds.
    reach : NeighbourReach
    i : int
        The feature, by its position in the data set.
    z : float
        Its value.
    keys : ndarray of uint64, shape (rows,)
        Of the neighbours.
    cells : ndarray of uint32
        Filled in.

    Returns
    -------
    tuple of int
        Between which cells the drawn ones lie; where they are the same, nothing was drawn.
    """
    thresholds, before_bin, scale = index
    first, last = number_between(reach, i, z, 0.0), number_between(reach, i, z, 1.0)
    low = cell_of_number(thresholds, before_bin, scale, compared(thresholds, first))
    high = cell_of_number(thresholds, before_bin, scale, compared(thresholds, last))
    if low < high:
        numbers = np.empty(len(keys), dtype=thresholds.dtype)
        for j in range(len(keys)):  # apart from the next loop, so that several are drawn at once
            numbers[j] = number_between(reach, i, z, uniform_share(descended_key(keys[j], np.uint64(i))))
        for j in range(len(keys)):
            cells[j] = cell_of_number(thresholds, before_bin, scale, numbers[j])
    return low, high


@compiled
def draw_categories(forest: Any, f: int, reach: Any, keys: Any, cells: Any) -> Any:
    """Draw the cells of one kept categorical feature; return the smallest and the largest."""
    i = forest.features[f]
    codes = reach.codes[reach.first_code[i] : reach.first_code[i + 1]]
    low: Any = np.int64(2**32)
    high: Any = np.int64(0)
    for j in range(len(keys)):
        code = codes[np.int64(uniform_share(descended_key(keys[j], np.uint64(i))) * len(codes))]
        if forest.is_coded[f]:
            cell = cell_of_category(codes_of(forest, f), float(code))
        else:
            thresholds, before_bin, scale = index_of(forest, f)
            cell = cell_of_number(thresholds, before_bin, scale, compared(thresholds, code))
        cells[j] = cell
        low, high = min(low, cell), max(high, cell)
    return low, high


@compiled
def set_neighbour_masks(forest: Any, reach: Any, z: Any, x: Any, keys: Any, cells: Any, masks: Any) -> None:
    """Set all masks for up to 64 neighbours of `z` with these keys; `cells` is room for theirs."""
    for f in range(len(forest.features)):
        i = forest.features[f]
        is_coded = forest.is_coded[f]
        kept = z[i] == x[i]
        if kept and reach.first_code[i + 1] > reach.first_code[i]:
            low, high = draw_categories(forest, f, reach, keys, cells)
        elif is_coded:
            low = high = cell_of_category(codes_of(forest, f), z[i])
        elif kept and moves_number(reach, i):
            low, high = draw_numbers(index_of(forest, f), reach, i, z[i], keys, cells)
        else:
            thresholds, before_bin, scale = index_of(forest, f)
            low = high = cell_of_number(thresholds, before_bin, scale, compared(thresholds, z[i]))
        slots = masks[forest.first_slot[f] : forest.first_slot[f + 1]]
        if low < high:
            set_by_cells(is_coded, low, high, cells[: len(keys)], slots)
        else:
            set_constant(is_coded, low, slots)


@compiled
def classes_of_neighbours(parts: Any, reach: Any, Z: Any, x: Any, evaluations: Any, m: int) -> Any:
    """Answer the m uniform K-neighbours of each row of `Z`.

    Parameters
    ----------
    parts : PackedForest
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
    forest = unpacked(parts)
    winners = np.empty((len(Z), m), dtype=np.int64)
    masks, room = room_for_walks(forest, parts.integers[3])
    sure, possible = np.zeros(len(masks), dtype=np.uint64), np.zeros(len(masks), dtype=np.uint64)
    common, sums = np.empty((len(forest.shares), ROWS)), np.empty((len(forest.shares), ROWS))
    told_apart = np.empty((len(forest.roots), ROWS), dtype=np.uint32)
    starts, known = np.empty(len(forest.roots), dtype=np.uint32), np.empty(len(forest.shares))
    keys, cells = np.empty(ROWS, dtype=np.uint64), np.empty(ROWS, dtype=np.uint32)
    for block in range(0, len(Z), ROWS):
        some = Z[block : block + ROWS]
        set_boxes(forest, reach, some, x, sure, possible)
        find_common(forest, sure, possible, ALL >> np.uint64(ROWS - len(some)), room, common, told_apart)
        for j in range(len(some)):
            for k in range(len(common)):
                known[k] = common[k, j]
            count = 0
            for tree in range(len(told_apart)):
                starts[count] = told_apart[tree, j]
                count += told_apart[tree, j] != NOWHERE
            for first in range(0, m, ROWS):
                asked = winners[block + j, first : first + ROWS]
                for i in range(len(asked)):
                    keys[i] = descended_key(evaluations[block + j], np.uint64(first + i))
                set_neighbour_masks(forest, reach, some[j], x, keys[: len(asked)], cells, masks)
                vote(forest, starts[:count], known, masks, room, sums, asked)
    return winners
