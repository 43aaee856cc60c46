"""Trees without what a box has no use for: nodes that are not reached, and splits that do not cut the box."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench import ForestNodes, IntArray, compiled_or_plain, only_side

WORTH_PRUNING = 0.75
"""Trees are copied if so many of their nodes are kept at most: a copy takes time, and memory while the box waits."""


def pruned(forest: ForestNodes, depth: int, reached: NDArray[np.bool_], low: IntArray, high: IntArray) -> ForestNodes:
    """Return a forest that is the same for all points of a box whose leaves are reached, with fewer nodes.

    Parameters
    ----------
    forest : ForestNodes
    depth : int
        Of its deepest tree.
    reached : ndarray of bool, shape (N,)
        The nodes on ways to leaves that matter; one such way in each tree at least.
    low, high : ndarray of int64, shape (d,)
        The box. Nodes that send all of it to one side are passed over.

    Returns
    -------
    ForestNodes
        -1 takes the place of a child that is gone. The given forest itself where that is hardly larger.
    """
    n_kept = int(kept_nodes(forest.nodes, reached, low, high))
    if n_kept > WORTH_PRUNING * len(forest.nodes):
        return forest
    nodes, roots = np.empty((n_kept, 4), dtype=np.int32), np.empty(len(forest.roots), dtype=np.int32)
    shares = np.empty((n_kept, forest.shares.shape[1]))
    made, n_leaves = copy_kept(forest, depth, reached, low, high, nodes, roots, shares)
    return ForestNodes(nodes[:made], roots, shares[:n_leaves].copy())


@compiled_or_plain
def kept_nodes(nodes: Any, reached: Any, low: Any, high: Any) -> int:
    """Count the leaves that are reached, and the nodes that are and cut a box: so many are copied, or fewer."""
    kept = 0
    for node in range(len(nodes)):
        if reached[node] and (nodes[node, 0] < 0 or only_side(nodes, node, low, high) < 0):
            kept += 1
    return kept


@compiled_or_plain
def copy_kept(
    forest: Any, depth: int, reached: Any, low: Any, high: Any, nodes: Any, roots: Any, shares: Any
) -> tuple[int, int]:
    """Copy the nodes that :func:`kept_nodes` counts into `nodes`, `roots` and `shares`; return how many, and leaves."""
    waiting, parent = np.empty(depth + 2, dtype=np.int64), np.empty((depth + 2, 2), dtype=np.int64)
    made, n_leaves = 0, 0
    for tree in range(len(forest.roots)):
        waiting[0], parent[0, 0], count = forest.roots[tree], -1, 1
        while count > 0:
            count -= 1
            node = waiting[count]
            while forest.nodes[node, 0] >= 0:
                side = only_side(forest.nodes, node, low, high)
                if side < 0:
                    break
                node = forest.nodes[node, 2 + side]
            if parent[count, 0] < 0:
                roots[tree] = made
            else:
                nodes[parent[count, 0], parent[count, 1]] = made
            nodes[made, 0], nodes[made, 1] = forest.nodes[node, 0], forest.nodes[node, 1]
            nodes[made, 2], nodes[made, 3] = -1, -1
            if forest.nodes[node, 0] < 0:
                nodes[made, 2] = n_leaves
                shares[n_leaves] = forest.shares[forest.nodes[node, 2]]
                n_leaves += 1
            else:
                for side in (1, 0):
                    child = forest.nodes[node, 2 + side]
                    if child >= 0 and reached[child]:
                        waiting[count], parent[count, 0], parent[count, 1] = child, made, 2 + side
                        count += 1
            made += 1
    return made, n_leaves
