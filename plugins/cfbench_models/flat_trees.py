"""The trees of a fitted forest as arrays, one tree after the other, nodes numbered through."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfbench import UnavailableError

Numbers = NDArray[np.int32]

MOST_NODES = 2**30 - 2
"""Compiled walks number the questions that splits ask in 30 bits."""


class FlatTrees:
    """All nodes of a forest of T trees, N in all, numbered in 32 bits: what is made on the way to the tables is large.

    Parameters
    ----------
    classifier : RandomForestClassifier

    Attributes
    ----------
    roots : ndarray of int32, shape (T,)
    is_split : ndarray of bool, shape (N,)
        Which nodes have children.
    left, right : ndarray of int32, shape (N,)
        Children; -1 for leaves.
    column : ndarray of int32, shape (N,)
        What a split looks at.
    threshold : ndarray of float32, shape (N,)
        A value up to this one goes left.
    shares : ndarray of float64, shape (N, K)
        Of the classes among a node's training rows.
    weight : ndarray of float64, shape (N,)
        Share of the tree's training rows that come to a node.

    Raises
    ------
    UnavailableError
        If the forest has something that arrays like these do not hold; the message names it.
    """

    def __init__(self, classifier: Any) -> None:
        require_plain(classifier)
        members = [member.tree_ for member in classifier.estimators_]
        sizes = np.array([tree.node_count for tree in members])
        self.roots: Numbers = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
        offsets = np.repeat(self.roots, sizes)

        def gathered(name: str, dtype: type[np.generic] = np.float64) -> Any:
            return np.concatenate([getattr(tree, name) for tree in members], dtype=dtype, casting="same_kind")

        self.left: Numbers = gathered("children_left", np.int32)
        self.right: Numbers = gathered("children_right", np.int32)
        self.is_split = self.left >= 0
        for children in (self.left, self.right):
            np.add(children, offsets, out=children, where=self.is_split)
        self.column: Numbers = gathered("feature", np.int32)
        self.threshold = rounded_down(gathered("threshold"))
        self.shares = gathered("value")[:, 0, :]
        self.weight = gathered("weighted_n_node_samples")
        self.weight /= self.weight[offsets]

    def siblings_adjacent(self) -> tuple[Numbers, Numbers]:
        """Order the nodes of each tree by depth, siblings side by side.

        Returns
        -------
        order : ndarray of int32, shape (N,)
            The node that comes to each place; roots keep theirs.
        child : ndarray of int32, shape (N,)
            By place: the place of the left child, or the place itself for a leaf.
        """
        tree = np.zeros(len(self.left), dtype=np.int32)
        tree[self.roots] = np.arange(len(self.roots))
        level, levels = self.roots, []
        while len(level):
            levels.append(level)
            parents = level[self.is_split[level]]
            level = np.stack([self.left[parents], self.right[parents]], axis=1).ravel()
            tree[level] = np.repeat(tree[parents], 2)
        order = np.concatenate(levels)
        order = order[np.argsort(tree[order], kind="stable")]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        splits = self.is_split[order]
        child = np.arange(len(order), dtype=np.int32)
        child[splits] = place[self.left[order[splits]]]
        return order, child


def rounded_down(thresholds: Any) -> NDArray[np.float32]:
    """Return the largest float32 not above each threshold.

    scikit-learn holds a float32 value against a float64 threshold; the value is at most the threshold exactly if it is
    at most this.
    """
    with np.errstate(over="ignore"):
        rounded: NDArray[np.float32] = thresholds.astype(np.float32)
    above = rounded > thresholds
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def require_plain(classifier: Any) -> None:
    """Refuse classifiers of which more would have to be known than their trees.

    Raises
    ------
    UnavailableError
        The message says why.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    if type(classifier) is not RandomForestClassifier:
        raise UnavailableError(f"the classifier is a {type(classifier).__name__}, not a RandomForestClassifier")
    if any(type(member) is not DecisionTreeClassifier for member in classifier.estimators_):
        raise UnavailableError("a member of the forest is no DecisionTreeClassifier")
    if classifier.n_outputs_ != 1:
        raise UnavailableError(f"the forest has {classifier.n_outputs_} outputs")
    if classifier.monotonic_cst is not None:
        raise UnavailableError("the forest was grown under monotonic constraints")
    trees = [member.tree_ for member in classifier.estimators_]
    nodes = sum(tree.node_count for tree in trees)
    if nodes > MOST_NODES:
        raise UnavailableError(f"the forest has {nodes} nodes, more than {MOST_NODES}")
    for tree in trees:
        is_leaf = tree.children_left < 0
        if not np.isfinite(tree.threshold[~is_leaf]).all():
            raise UnavailableError("a split tells missing values from all others")
        shares = tree.value[is_leaf]
        if not ((shares >= 0).all() and np.allclose(shares.sum(axis=2), 1.0)):
            raise UnavailableError("the leaves hold counts, whose sums may overflow, instead of shares")
