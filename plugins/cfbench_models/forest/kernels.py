"""The compiled part of the forest's oracle: up to 64 rows walk a tree together.

A set of rows is a 64-bit mask. Every slot of the forest gets the mask of the rows that go right there, so a node splits
the set that reaches it by one AND, and each node is visited once for all of its rows. What rows have in common, they
walk once: nearly everything for the neighbours of a candidate, much of it for a population in a good order.

Nodes to visit wait in a queue that several trees share, so that the processor finds independent work.

Modules of kernels need numba, the extra `fast`; :mod:`cfbench_models.shared.compilation` imports them. Their argument
`forest` is a :class:`cfbench_models.forest.tables.ForestTables`; see there for the words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled
from cfbench.forests import DecisionRule, winner_of
from cfbench_models.forest.tables import ForestTables

TREES_AT_ONCE = 16
"""Trees that share a queue."""

ROWS = 64
"""Rows that a mask holds."""

ZERO, ONE, ALL = np.uint64(0), np.uint64(1), ~np.uint64(0)
BITS = ONE << np.arange(ROWS, dtype=np.uint64)
LEFT_CHILD, RIGHT_IS_SPLIT, LEFT_IS_SPLIT = np.uint64(32), np.uint64(31), np.uint64(30)
RIGHT_IS_LEAF, LEFT_IS_LEAF = np.uint64(29), np.uint64(28)
SLOT, GOES_ON = np.uint64(2**28 - 1), np.uint64(15 * 2**28)
_NEXT = np.uint32(1)


@compiled
def set_constant(is_coded: bool, cell: Any, masks: Any) -> None:
    """Set the masks of one feature's slots, the spare one included, where all rows have the same cell."""
    if is_coded:
        masks[:] = ZERO
        masks[cell] = ALL  # the spare slot where no indicator is set
    else:
        masks[:cell] = ALL
        masks[cell:] = ZERO


@compiled
def set_by_cells(is_coded: bool, low: Any, high: Any, cells: Any, masks: Any) -> None:
    """Set the masks of one feature's slots from the cells of up to 64 rows.

    Parameters
    ----------
    is_coded : bool
        Whether the feature is one-hot encoded.
    low, high : int
        The smallest and the largest cell.
    cells : ndarray of uint32, shape (rows,)
    masks : ndarray of uint64
        By slot, the spare one included: the rows that go right there. Bits past the number of rows have no meaning.
    """
    if low == high:
        set_constant(is_coded, low, masks)
        return
    varied = 0 if is_coded else low
    masks[:varied] = ALL
    masks[varied:] = ZERO
    for i in range(len(cells)):
        masks[cells[i]] |= BITS[i]
    if not is_coded:
        # A row goes right at the slots below its cell.
        right = ZERO
        for slot in range(high, low - 1, -1):
            here = masks[slot]
            masks[slot] = right
            right |= here


@compiled
def unpacked(parts: Any) -> Any:
    """Return the ForestTables of a PackedForest."""
    nodes, shares, thresholds, numbers, integers, floats = parts
    trees, u, bins = integers[0], integers[1], integers[2]
    of_features = integers[8:]
    return ForestTables(
        nodes,
        numbers[:trees],
        numbers[trees : 2 * trees],
        shares,
        integers[4] != 0,
        integers[5],
        floats[0],
        DecisionRule(integers[6] != 0, integers[7] != 0, floats[1], floats[2]),
        of_features[:u],
        of_features[u : 2 * u],
        of_features[2 * u : 3 * u + 1],
        thresholds,
        of_features[3 * u + 1 : 4 * u + 2],
        floats[3 : 3 + u],
        numbers[2 * trees : 2 * trees + bins],
        of_features[4 * u + 2 :],
        numbers[2 * trees + bins :],
        floats[3 + u :],
    )


@compiled
def room_for_walks(forest: Any, largest: int) -> Any:
    """Return masks by slot, and room for queues and leaves as `find_leaves` takes it.

    `largest` is the number of nodes of the largest tree.
    """
    size = TREES_AT_ONCE * largest + 2
    masks = np.empty(forest.first_slot[-1] + 1, dtype=np.uint64)
    masks[-1] = ZERO  # the slot of leaves
    places, sets = np.empty(2 * size, dtype=np.uint32), np.empty(2 * size, dtype=np.uint64)
    return masks, (places[:size], sets[:size], places[size:], sets[size:], places, sets)


@compiled
def find_leaves(nodes: Any, roots: Any, masks: Any, rows: Any, room: Any) -> Any:
    """Walk some trees with the set `rows`.

    Parameters
    ----------
    nodes : ndarray of uint64
    roots : ndarray of uint32
        Of the trees to walk.
    masks : ndarray of uint64
        By slot: the rows that go right there.
    rows : uint64
    room : tuple of ndarray
        A queue of nodes, the rows that wait there; filled with: the leaves reached (their numbers), the rows there;
        then the two arrays that hold both queue and leaves, and both sets of rows.

    Returns
    -------
    uint64
        How many leaves were filled in.
    """
    leaves, places, sets = room[2], room[4], room[5]
    first_leaf = np.uint64(len(places) - len(leaves))
    head, tail, found = ZERO, ZERO, first_leaf
    for root in roots:
        is_leaf = nodes[root] & GOES_ON == ZERO
        at = found if is_leaf else tail
        places[at], sets[at] = root, rows
        found += np.uint64(is_leaf)
        tail += np.uint64(not is_leaf)
    while head < tail:
        packed, here = nodes[places[head]], sets[head]
        head += ONE
        left = np.uint32(packed >> LEFT_CHILD)
        to_right = masks[packed & SLOT] & here
        to_left = here & ~to_right
        # No branches: each child is written to one of two places, and counted only if rows go there.
        to_leaf, goes = packed >> LEFT_IS_LEAF & ONE, np.uint64(to_left != ZERO)
        at = found if to_leaf else tail
        places[at], sets[at] = left, to_left
        found += goes & to_leaf
        tail += goes & (packed >> LEFT_IS_SPLIT)
        to_leaf, goes = packed >> RIGHT_IS_LEAF & ONE, np.uint64(to_right != ZERO)
        at = found if to_leaf else tail
        places[at], sets[at] = np.uint32(left + _NEXT), to_right
        found += goes & to_leaf
        tail += goes & (packed >> RIGHT_IS_SPLIT)
    count = found - first_leaf
    for i in range(count):
        leaves[i] = np.uint32(nodes[leaves[i]] >> LEFT_CHILD)
    return count


@compiled
def add_shares(shares: Any, leaves: Any, there: Any, rows: Any, sums: Any) -> float:
    """Add one class's shares in the leaves to the sums of the rows that are there.

    Returns
    -------
    float
        What is to be added to all rows besides, for the leaves that hold them all.
    """
    common = 0.0
    for i in range(len(leaves)):
        here, share = there[i], shares[leaves[i]]
        if here == rows:
            common += share
        else:
            for j in range(ROWS):
                sums[j] += share if here & BITS[j] else 0.0
    return common


@compiled
def quick_sums(forest: Any, starts: Any, known: Any, masks: Any, rows: Any, room: Any, sums: Any) -> None:
    """Sum up the shares of the classes, shape (K, 64), in any order; of votes, those of class 0 are what others leave.

    Parameters
    ----------
    forest : ForestTables
    starts : ndarray of uint32
        Where walks start: roots, or nodes further down.
    known : ndarray of float64, shape (K,)
        Sums over the trees that no start is in.
    masks, rows, room
        As for `find_leaves`.
    sums : ndarray of float64, shape (K, 64)
        Filled in.
    """
    n_classes = len(forest.shares)
    common = known.copy()
    sums[:] = 0.0
    for first in range(0, len(starts), TREES_AT_ONCE):
        found = find_leaves(forest.nodes, starts[first : first + TREES_AT_ONCE], masks, rows, room)
        for k in range(forest.first_summed, n_classes):
            common[k] += add_shares(forest.shares[k], room[2][:found], room[3][:found], rows, sums[k])
    for k in range(forest.first_summed, n_classes):
        for j in range(ROWS):
            sums[k, j] += common[k]
    if forest.add_up:
        for j in range(ROWS):
            sums[0, j] = len(forest.roots)
            for k in range(1, n_classes):
                sums[0, j] -= sums[k, j]


@compiled
def sums_in_order(forest: Any, masks: Any, rows: Any, room: Any, sums: Any) -> None:
    """Sum up the shares of all classes, shape (K, 64), in the order of the trees: the library's bits."""
    leaves, there = room[2], room[3]
    leaf_of = np.empty((TREES_AT_ONCE, ROWS), dtype=np.uint32)
    sums[:] = 0.0
    for first in range(0, len(forest.roots), TREES_AT_ONCE):
        group = forest.roots[first : first + TREES_AT_ONCE]
        found = find_leaves(forest.nodes, group, masks, rows, room)
        first_class_alone = forest.shares.shape[1] - 1
        leaf_of[:] = first_class_alone  # where walks do not go on
        numbers = forest.first_leaf[first : first + TREES_AT_ONCE]
        for i in range(found):
            here, leaf = there[i], leaves[i]
            if leaf == first_class_alone:
                continue
            tree = 0
            while tree + 1 < len(numbers) and numbers[tree + 1] <= leaf:
                tree += 1
            for j in range(ROWS):
                leaf_of[tree, j] = leaf if here & BITS[j] else leaf_of[tree, j]
        for tree in range(len(group)):
            for k in range(len(sums)):
                for j in range(ROWS):
                    sums[k, j] += forest.shares[k, leaf_of[tree, j]]
                if forest.rule.single:
                    for j in range(ROWS):
                        sums[k, j] = np.float32(sums[k, j])


@compiled
def settle(sums: Any, margin: float, rows: Any, winners: Any) -> Any:
    """Fill in the class with the largest sum, the first of equals, for the rows of a set.

    Returns
    -------
    uint64
        The rows whose two largest sums are less than `margin` apart: rounding may have put them in order.
    """
    unclear = ZERO
    for j in range(len(winners)):
        if rows & BITS[j] == ZERO:
            continue
        best, second = 0, -np.inf
        for k in range(1, len(sums)):
            if sums[k, j] > sums[best, j]:
                best, second = k, sums[best, j]
            else:
                second = max(second, sums[k, j])
        winners[j] = best
        if sums[best, j] - second < margin:
            unclear |= BITS[j]
    return unclear


@compiled
def vote(forest: Any, starts: Any, known: Any, masks: Any, room: Any, sums: Any, winners: Any) -> None:
    """Fill in the classes of the rows that the masks are about, as many as `winners` holds; see `quick_sums`."""
    rows = ALL >> np.uint64(ROWS - len(winners))
    quick_sums(forest, starts, known, masks, rows, room, sums)
    unclear = settle(sums, forest.clear, rows, winners)
    if unclear:
        sums_in_order(forest, masks, unclear, room, sums)
        scores = np.empty(len(sums))
        for j in range(len(winners)):
            if unclear & BITS[j]:
                for k in range(len(sums)):
                    scores[k] = sums[k, j]
                winners[j] = winner_of(scores, forest.rule)


@compiled
def winner_of_one(forest: Any, masks: Any, scores: Any) -> Any:
    """Return the class of the one row that the masks are about, by its walk through tree after tree.

    The shares are added in the order of the trees: the library's bits. `scores`, shape (K,), is room for them.
    """
    nodes, first_class_alone = forest.nodes, forest.shares.shape[1] - 1
    scores[:] = 0.0
    for root in forest.roots:
        packed = nodes[root]
        leaf = np.int64(packed >> LEFT_CHILD) if packed & GOES_ON == ZERO else first_class_alone
        while packed & GOES_ON:
            right = masks[packed & SLOT] & ONE
            child = (packed >> LEFT_CHILD) + right
            if packed >> (LEFT_IS_SPLIT + right) & ONE:
                packed = nodes[child]
                continue
            if packed >> (LEFT_IS_LEAF + right) & ONE:
                leaf = np.int64(nodes[child] >> LEFT_CHILD)
            break
        for k in range(len(scores)):
            scores[k] += forest.shares[k, leaf]
            if forest.rule.single:
                scores[k] = np.float32(scores[k])
    return winner_of(scores, forest.rule)
