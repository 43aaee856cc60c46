"""The compiled first half of the walk of neighbours: what all neighbours of a candidate have in common.

64 candidates walk a tree together, each with the box that its neighbours lie in. Where no split cuts the box, all its
neighbours are in one leaf; else the walk notes the node where the first split does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench.robustness import perturbed_value as core_perturbed_value
from cfbench_models.forest.cell_kernels import cell_of_category, cell_of_number, codes_of, compared, index_of
from cfbench_models.forest.kernels import (
    BITS,
    GOES_ON,
    LEFT_CHILD,
    LEFT_IS_LEAF,
    LEFT_IS_SPLIT,
    ONE,
    RIGHT_IS_LEAF,
    RIGHT_IS_SPLIT,
    ROWS,
    SLOT,
    TREES_AT_ONCE,
    ZERO,
    add_shares,
    set_by_cells,
)

NOWHERE = np.uint32(2**32 - 1)
"""Instead of a node: no split separates the neighbours."""

_NEXT = np.uint32(1)

# The core's own definition, compiled: neighbours have the same bits with and without numba.
perturbed_value = compiled(core_perturbed_value)


@compiled
def moves_number(reach: Any, i: int) -> Any:
    """Whether K-perturbations move the numerical feature `i`."""
    return reach.decrease[i] > 0 or reach.increase[i] > 0


@compiled
def number_between(reach: Any, i: int, z: float, share: float) -> Any:
    """Return the value of a kept feature at a share of the way through its perturbations.

    It rises with the share, since every operation does, rounding included.
    """
    size = abs(z) if reach.relative[i] else 1.0
    lowest, highest = -reach.decrease[i] * size, reach.increase[i] * size
    return perturbed_value(z, share, lowest, highest, reach.lower[i], reach.upper[i])


@compiled
def set_boxes(forest: Any, reach: Any, Z: Any, x: Any, sure: Any, possible: Any) -> None:
    """Set the masks of the candidates, up to 64, all or some of whose neighbours go right at each slot."""
    low, high = np.empty(len(Z), dtype=np.uint32), np.empty(len(Z), dtype=np.uint32)
    for f in range(len(forest.features)):
        i = forest.features[f]
        first, end = forest.first_slot[f], forest.first_slot[f + 1]
        codes = reach.codes[reach.first_code[i] : reach.first_code[i + 1]]
        if forest.is_coded[f]:
            set_possible_categories(codes_of(forest, f), codes, Z[:, i], x[i], sure[first:end], possible[first:end])
            continue
        thresholds, before_bin, scale = index_of(forest, f)
        moves = moves_number(reach, i)
        for j in range(len(Z)):
            z = Z[j, i]
            lowest = highest = z
            if z == x[i] and len(codes) > 0:
                lowest, highest = np.float64(codes[0]), np.float64(codes[-1])  # they ascend
            elif z == x[i] and moves:
                lowest, highest = number_between(reach, i, z, 0.0), number_between(reach, i, z, 1.0)
            low[j] = cell_of_number(thresholds, before_bin, scale, compared(thresholds, lowest))
            high[j] = cell_of_number(thresholds, before_bin, scale, compared(thresholds, highest))
        set_by_own_cells(low, sure[first:end])
        set_by_own_cells(high, possible[first:end])


@compiled
def set_by_own_cells(cells: Any, masks: Any) -> None:
    """Set the masks of one numerical feature's slots from the cells of up to 64 candidates."""
    low: Any = np.int64(2**32)
    high: Any = np.int64(0)
    for cell in cells:
        low, high = min(low, np.int64(cell)), max(high, np.int64(cell))
    set_by_cells(False, low, high, cells, masks)


@compiled
def set_possible_categories(cells: Any, drawn: Any, values: Any, kept: float, sure: Any, possible: Any) -> None:
    """Set the masks of one one-hot encoded feature.

    Parameters
    ----------
    cells : ndarray of uint32
        Of its codes.
    drawn : ndarray of int64
        The codes that a perturbation leads to, or none.
    values : ndarray of float64, shape (n,)
        Of the candidates.
    kept : float
        Candidates with this value are perturbed.
    sure, possible : ndarray of uint64
        Filled in, by slot.
    """
    sure[:] = ZERO
    possible[:] = ZERO
    for j in range(len(values)):
        if values[j] == kept and len(drawn) > 0:
            for code in drawn:
                possible[cell_of_category(cells, float(code))] |= BITS[j]
        else:
            cell = cell_of_category(cells, values[j])
            sure[cell] |= BITS[j]
            possible[cell] |= BITS[j]


@compiled
def find_common(forest: Any, sure: Any, possible: Any, candidates: Any, room: Any, sums: Any, told_apart: Any) -> None:
    """Walk all trees with up to 64 candidates as far as all neighbours of each go the same way.

    Parameters
    ----------
    forest : ForestTables
    sure, possible : ndarray of uint64
        By slot: the candidates all or some of whose neighbours go right there.
    candidates : uint64
    room : tuple of ndarray
        As for `find_leaves`.
    sums : ndarray of float64, shape (K, 64)
        Filled with the shares of the leaves that hold all neighbours of a candidate, for the classes that are summed.
    told_apart : ndarray of uint32, shape (T, 64)
        Filled with the node of a tree at which a candidate's neighbours separate, or ``NOWHERE``.
    """
    sums[:] = 0.0
    told_apart[:] = NOWHERE
    for first in range(0, len(forest.roots), TREES_AT_ONCE):
        group = forest.roots[first : first + TREES_AT_ONCE]
        found = walk_boxes(forest.nodes, group, sure, possible, candidates, room, told_apart[first:])
        for k in range(forest.first_summed, len(sums)):
            of_all = add_shares(forest.shares[k], room[2][:found], room[3][:found], candidates, sums[k])
            for j in range(ROWS):
                sums[k, j] += of_all


@compiled
def walk_boxes(nodes: Any, roots: Any, sure: Any, possible: Any, candidates: Any, room: Any, told_apart: Any) -> Any:
    """Walk some trees as `find_leaves` does, until leaves and until splits that cut boxes."""
    queue, waiting, leaves, there = room[0], room[1], room[2], room[3]
    head, tail, found = ZERO, ZERO, ZERO
    for root in roots:
        queue[tail] = root
        waiting[tail] = candidates
        tail += ONE
    while head < tail:
        node, here = queue[head], waiting[head]
        head += ONE
        packed = nodes[node]
        left = np.uint32(packed >> LEFT_CHILD)
        to_right = sure[packed & SLOT] & here
        to_left = here & ~possible[packed & SLOT]
        cut = here & ~(to_right | to_left)
        if cut:
            tree = 0
            while tree + 1 < len(roots) and roots[tree + 1] <= node:
                tree += 1
            for j in range(ROWS):
                told_apart[tree, j] = node if cut & BITS[j] else told_apart[tree, j]
        leaves[found] = left
        there[found] = here
        found += np.uint64(packed & GOES_ON == ZERO)
        queue[tail] = left
        waiting[tail] = to_left
        tail += np.uint64(to_left != ZERO) & (packed >> LEFT_IS_SPLIT | packed >> LEFT_IS_LEAF)
        queue[tail] = np.uint32(left + _NEXT)
        waiting[tail] = to_right
        tail += np.uint64(to_right != ZERO) & (packed >> RIGHT_IS_SPLIT | packed >> RIGHT_IS_LEAF)
    return found
