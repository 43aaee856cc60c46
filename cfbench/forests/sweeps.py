"""Votes in all cells of one or of two features at once, all others held: difference arrays.

A leaf adds its shares to an interval of cells, or to a rectangle of them: that is two or four changes of an array whose
running sum then has the votes of every cell. One walk through the trees serves all cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench.compilation import compiled_or_plain, inlined_or_plain
from cfbench.forests.walks import next_node, only_side


@compiled_or_plain
def leads_of(forest: Any, rows: Any, target: int) -> Any:
    """Return the target's lead over its strongest rival for points, shape (n, d), given by their cells."""
    nodes, shares = forest.nodes, forest.shares
    n_classes = shares.shape[1]
    leads, votes = np.empty(len(rows)), np.empty(n_classes)
    for i in range(len(rows)):
        votes[:], cells = 0.0, rows[i]
        for root in forest.roots:
            node = root
            while nodes[node, 0] >= 0:
                node = next_node(nodes, node, cells)
            for k in range(n_classes):
                votes[k] += shares[nodes[node, 2], k]
        leads[i] = np.inf
        for k in range(n_classes):
            if k != target:
                leads[i] = min(leads[i], votes[target] - votes[k])
    return leads


@compiled_or_plain
def leads_along(forest: Any, depth: int, cells: Any, feature: int, target: int, low: int, high: int) -> Any:
    """Return the target's lead over its strongest rival in the cells `low` to `high` of one ordered feature.

    Parameters
    ----------
    forest : ForestNodes
    depth : int
    cells : ndarray of int64, shape (d,)
        The point that is moved along the feature.
    feature, target, low, high : int

    Returns
    -------
    ndarray of float64, shape (high - low + 1,)
        Sums in another order than the forest's own: right but for rounding.
    """
    nodes, shares = forest.nodes, forest.shares
    n_classes = shares.shape[1]
    change = np.zeros((high - low + 2, n_classes))
    waiting = np.empty((depth + 2, 3), dtype=np.int64)
    for root in forest.roots:
        waiting[0, 0], waiting[0, 1], waiting[0, 2], count = root, low, high, 1
        while count > 0:
            count -= 1
            node, a, b = waiting[count, 0], waiting[count, 1], waiting[count, 2]
            while nodes[node, 0] >= 0:
                if nodes[node, 0] != feature:
                    node = next_node(nodes, node, cells)
                    continue
                cut = nodes[node, 1]
                if a <= cut < b:
                    waiting[count, 0], waiting[count, 1], waiting[count, 2] = nodes[node, 3], cut + 1, b
                    count += 1
                    b = cut
                node = nodes[node, 2] if a <= cut else nodes[node, 3]
            leaf = nodes[node, 2]
            for k in range(n_classes):
                lead = shares[leaf, target] - shares[leaf, k]
                change[a - low, k] += lead
                change[b + 1 - low, k] -= lead
    least = np.empty(high - low + 1)
    lead = np.zeros(n_classes)
    for c in range(high - low + 1):
        least[c] = np.inf
        for k in range(n_classes):
            lead[k] += change[c, k]
            if k != target:
                least[c] = min(least[c], lead[k])
    return least


@compiled_or_plain
def leads_of_pair(forest: Any, depth: int, cells: Any, pair: Any, target: int, spans: Any, settled: Any) -> Any:
    """Return the target's lead over its strongest rival in all pairs of cells of two ordered features.

    Parameters
    ----------
    forest : ForestNodes
    depth : int
    cells : ndarray of int64, shape (d,)
        The point that is moved along both.
    pair : (int, int)
        The features.
    target : int
    spans : (int, int, int, int)
        Lowest and highest cell of the first feature, then of the second.
    settled : ndarray of float64, shape (K,)
        Votes to add everywhere.

    Returns
    -------
    ndarray of float64, shape (cells of the first, cells of the second)
        Right but for rounding.
    """
    nodes, shares = forest.nodes, forest.shares
    n_classes, (a0, b0, c0, d0) = shares.shape[1], spans
    change = np.zeros((n_classes, b0 - a0 + 2, d0 - c0 + 2))
    change[:, 0, 0] = settled[target] - settled
    waiting = np.empty((depth + 2, 5), dtype=np.int64)
    for root in forest.roots:
        put_aside(waiting, 0, root, a0, b0, c0, d0)
        count = 1
        while count > 0:
            count -= 1
            node, a, b = waiting[count, 0], waiting[count, 1], waiting[count, 2]
            c, d = waiting[count, 3], waiting[count, 4]
            while nodes[node, 0] >= 0:
                f, cut = nodes[node, 0], nodes[node, 1]
                if f == pair[0]:
                    if a <= cut < b:
                        put_aside(waiting, count, nodes[node, 3], cut + 1, b, c, d)
                        count, b = count + 1, cut
                    node = nodes[node, 2] if a <= cut else nodes[node, 3]
                elif f == pair[1]:
                    if c <= cut < d:
                        put_aside(waiting, count, nodes[node, 3], a, b, cut + 1, d)
                        count, d = count + 1, cut
                    node = nodes[node, 2] if c <= cut else nodes[node, 3]
                else:
                    node = next_node(nodes, node, cells)
            leaf = nodes[node, 2]
            for k in range(n_classes):
                lead = shares[leaf, target] - shares[leaf, k]
                change[k, a - a0, c - c0] += lead
                change[k, b + 1 - a0, c - c0] -= lead
                change[k, a - a0, d + 1 - c0] -= lead
                change[k, b + 1 - a0, d + 1 - c0] += lead
    least = np.empty((change.shape[1] - 1, change.shape[2] - 1))
    add_up(change, target, least)
    return least


@compiled_or_plain
def add_up(changes: Any, target: int, leads: Any) -> None:
    """Add up changes along both axes; fill in the least over the rivals, shape (n, m)."""
    n, m = leads.shape
    leads[:] = np.inf
    for k in range(len(changes)):
        if k == target:
            continue
        above = np.zeros(m)
        for i in range(n):
            row = 0.0
            for j in range(m):
                row += changes[k, i, j]
                above[j] += row
                leads[i, j] = min(leads[i, j], above[j])


@compiled_or_plain
def entered(forest: Any, low: Any, high: Any, entries: Any, settled: Any) -> Any:
    """Go down each tree as far as all points of a box go together.

    Parameters
    ----------
    forest : ForestNodes
    low, high : ndarray of int64, shape (d,)
        The lowest and the highest cell of each feature.
    entries : ndarray of int32, shape (T,)
        Filled in its first places with the nodes that cut the box.
    settled : ndarray of float64, shape (K,)
        All 0; the shares of the leaves that the whole box comes to are added.

    Returns
    -------
    int
        How many trees cut the box.
    """
    nodes, n_cut = forest.nodes, 0
    for root in forest.roots:
        node = root
        while nodes[node, 0] >= 0:
            side = only_side(nodes, node, low, high)
            if side < 0:
                break
            node = nodes[node, 2 + side]
        if nodes[node, 0] >= 0:
            entries[n_cut] = node
            n_cut += 1
        else:
            settled += forest.shares[nodes[node, 2]]
    return n_cut


@inlined_or_plain
def put_aside(waiting: Any, i: Any, node: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Keep a node and the rectangle that reaches it for later."""
    waiting[i, 0], waiting[i, 1], waiting[i, 2], waiting[i, 3], waiting[i, 4] = node, a, b, c, d
