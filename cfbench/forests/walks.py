"""Walks through a forest's trees: the class of a point, and how votes can turn out within a box.

Their argument `forest` is a :class:`cfbench.forests.structure.ForestNodes`. They run compiled where numba is installed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cfbench.compilation import compiled_or_plain, inlined_or_plain


@inlined_or_plain
def next_node(nodes: Any, node: Any, cells: Any) -> Any:
    """Return the child that a split sends a point to."""
    cut, cell = nodes[node, 1], cells[nodes[node, 0]]
    right = cell > cut if cut >= 0 else cell == -1 - cut
    return nodes[node, 3] if right else nodes[node, 2]


@inlined_or_plain
def only_side(nodes: Any, node: Any, low: Any, high: Any) -> Any:
    """Return to which side a split sends all of a box, 0 or 1; -1 where it cuts it."""
    f, cut = nodes[node, 0], nodes[node, 1]
    if cut >= 0:
        side = 0 if high[f] <= cut else 1 if low[f] > cut else -1
    elif low[f] == high[f]:
        side = 1 if low[f] == -1 - cut else 0
    else:
        side = -1 if low[f] <= -1 - cut <= high[f] else 0
    return side


@inlined_or_plain
def side_within(nodes: Any, node: Any, box: Any, first: Any) -> Any:
    """Return to which side a split sends all cells that a box allows, 0 or 1; -1 where it cuts it.

    `box` and `first` are those of :func:`vote_range`.
    """
    f, cut = nodes[node, 0], nodes[node, 1]
    low, high, allowed = box
    if cut >= 0:
        side = 0 if high[f] <= cut else 1 if low[f] > cut else -1
    elif allowed[first[f] - 1 - cut]:
        side = 1 if low[f] == high[f] else -1
    else:
        side = 0
    return side


@inlined_or_plain
def to_softmax(scores: Any, single: Any) -> None:
    """Turn scores, shape (K,), into their softmax, rounded as boosting libraries round it.

    They subtract the largest score, add up the exponentials in float64, and divide; with `single`, all numbers except
    the sum are float32.
    """
    largest, total = scores[0], 0.0
    for k in range(1, len(scores)):
        largest = max(largest, scores[k])
    for k in range(len(scores)):
        below = scores[k] - largest
        if single:
            scores[k] = np.float32(math.exp(np.float64(np.float32(below))))
        else:
            scores[k] = math.exp(below)
        total += scores[k]
    for k in range(len(scores)):
        if single:
            scores[k] = np.float32(scores[k] / np.float64(np.float32(total)))
        else:
            scores[k] /= total


@inlined_or_plain
def winner_of(scores: Any, rule: Any) -> Any:
    """Return the place of the class that sums of shares, shape (K,), are decided for; they are overwritten."""
    for k in range(len(scores)):
        scores[k] /= rule.divisor
    if rule.softmax:
        to_softmax(scores, rule.single)
    best = 0
    for k in range(1, len(scores)):
        if scores[k] > scores[best] + rule.bar:
            best = k
    return best


@compiled_or_plain
def class_of_cells(forest: Any, cells: Any) -> Any:
    """Return the place of the class of one point, shape (d,), given by its cells.

    Shares are added in the order of the trees and in the library's number type, so every bit is the library's.
    """
    nodes, shares, single = forest.nodes, forest.shares, forest.rule.single
    votes = np.zeros(shares.shape[1])
    for root in forest.roots:
        node = root
        while nodes[node, 0] >= 0:
            node = next_node(nodes, node, cells)
        for k in range(len(votes)):
            votes[k] += shares[nodes[node, 2], k]
            if single:
                votes[k] = np.float32(votes[k])
    return winner_of(votes, forest.rule)


@compiled_or_plain
def classes_of_cells(forest: Any, cells: Any) -> Any:
    """Return the places of the classes of points, shape (n, d), given by their cells."""
    places = np.empty(len(cells), dtype=np.int64)
    for i in range(len(cells)):
        places[i] = class_of_cells(forest, cells[i])
    return places


@compiled_or_plain
def depth_of(nodes: Any, roots: Any) -> Any:
    """Return the largest number of splits on a way from a root to a leaf."""
    waiting, levels = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes), dtype=np.int64)
    deepest = 0
    for root in roots:
        waiting[0], levels[0], count = root, 0, 1
        while count > 0:
            count -= 1
            node, level = waiting[count], levels[count]
            deepest = max(deepest, level)
            if nodes[node, 0] >= 0:
                for side in (2, 3):
                    waiting[count], levels[count] = nodes[node, side], level + 1
                    count += 1
    return deepest


@compiled_or_plain
def largest_shares(forest: Any, depth: int) -> Any:
    """Return the largest share in size of each tree's leaves, shape (T,)."""
    nodes, shares = forest.nodes, forest.shares
    waiting, largest = np.empty(depth + 2, dtype=np.int64), np.zeros(len(forest.roots))
    for tree in range(len(forest.roots)):
        waiting[0], count = forest.roots[tree], 1
        while count > 0:
            count -= 1
            node = waiting[count]
            if nodes[node, 0] >= 0:
                waiting[count], waiting[count + 1] = nodes[node, 2], nodes[node, 3]
                count += 2
                continue
            for k in range(shares.shape[1]):
                largest[tree] = max(largest[tree], abs(shares[nodes[node, 2], k]))
    return largest


@compiled_or_plain
def vote_range(
    forest: Any,
    depth: int,
    target: int,
    box: Any,
    first: Any,
    entries: Any,
    settled: Any,
    least: Any,
    most: Any,
    pull: Any,
    place: Any,
) -> Any:
    """Bound the votes of all points of a box, and return how many trees it cuts.

    A tree's vote lies between those of the leaves that the box reaches, whatever the other trees say. So the sums over
    the trees of the least and of the largest lead bound the lead of every point: interval arithmetic on the trees.

    `depth` is that of the deepest tree. `box` has the lowest and the highest cell of each feature, shape (d,), and by
    cell, features one after the other, whether it belongs to the box, which matters for coded features; `first`, shape
    (d + 1,), says where each feature's cells start. `entries` are where the box enters the trees that are not settled,
    and are replaced in the first places by where it is cut first. `settled`, shape (K,), are the votes of all other
    trees; those of trees that the box does not cut are added. `least`, `most`, `pull` and `place` are filled as in
    :class:`cfbench.forests.boxes.Votes`; a place is the average of the first cuts, or, for a coded feature, the cell of
    the cut below which leads differ most.
    """
    nodes, shares = forest.nodes, forest.shares
    n_classes, n_cut = shares.shape[1], 0
    least[:], most[:], pull[:], place[:] = 0.0, 0.0, 0.0, 0.0
    waiting, widest = np.empty(depth + 2, dtype=np.int64), np.zeros(len(pull))
    lowest, highest = np.empty(n_classes), np.empty(n_classes)
    for entry in entries:
        first_cut, leaf = tree_range(forest, entry, target, box, first, waiting, lowest, highest)
        if first_cut < 0:
            settled += shares[leaf]
            continue
        entries[n_cut] = first_cut
        n_cut += 1
        spread, f, cut = 0.0, nodes[first_cut, 0], nodes[first_cut, 1]
        for k in range(n_classes):
            least[k] += lowest[k]
            most[k] += highest[k]
            spread += highest[k] - lowest[k]
        pull[f] += spread
        if cut >= 0:
            place[f] += spread * cut
        elif spread > widest[f]:
            widest[f], place[f] = spread, -1 - cut
    for k in range(n_classes):
        least[k] += settled[target] - settled[k]
        most[k] += settled[target] - settled[k]
    for f in range(len(pull)):
        if widest[f] == 0 and pull[f] > 0:
            place[f] /= pull[f]
    return n_cut


@compiled_or_plain
def tree_range(
    forest: Any, entry: Any, target: int, box: Any, first: Any, waiting: Any, lowest: Any, highest: Any
) -> Any:
    """Fill in the least and the largest lead over each class among a tree's leaves that a box reaches.

    Return the node that cuts the box first, -1 if none does, and the last leaf's row of shares.
    """
    nodes, shares = forest.nodes, forest.shares
    lowest[:], highest[:] = np.inf, -np.inf
    waiting[0], count, first_cut, leaf = entry, 1, -1, 0
    while count > 0:
        count -= 1
        node = waiting[count]
        while nodes[node, 0] >= 0:
            side = side_within(nodes, node, box, first)
            if side < 0:
                first_cut = node if first_cut < 0 else first_cut
                waiting[count] = nodes[node, 3]
                count += 1
            node = nodes[node, 3] if side == 1 else nodes[node, 2]
        leaf = nodes[node, 2]
        for k in range(len(lowest)):
            lead = shares[leaf, target] - shares[leaf, k]
            lowest[k], highest[k] = min(lowest[k], lead), max(highest[k], lead)
    return first_cut, leaf
