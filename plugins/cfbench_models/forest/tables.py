"""The trees of a fitted forest as arrays, in the features of the data set, ready for compiled walks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import UnavailableError
from cfbench.forests import DecisionRule, ForestStructure
from cfbench.models import Encoding
from cfbench.space import FloatArray, IntArray

BINS_A_THRESHOLD = 2
MOST_BINS = 2**14


class ThresholdBins(NamedTuple):
    """The span of the thresholds cut into equal bins.

    A value's bin is ``clip(floor((value - first threshold) * scale), 0, bins - 1)`` in float64. This rises with the
    value, rounding included: thresholds in earlier bins lie below the value, those in later ones above it.

    Parameters
    ----------
    scale : float
    before : ndarray of uint32, shape (bins + 1,)
        How many thresholds lie in earlier bins.
    """

    scale: float
    before: NDArray[np.uint32]

    @classmethod
    def of(cls, thresholds: NDArray[np.floating[Any]]) -> Self:
        """Cut the span of ascending thresholds, at least one."""
        exact = thresholds.astype(np.float64)
        bins = min(BINS_A_THRESHOLD * len(exact), MOST_BINS)
        span = exact[-1] - exact[0]
        scale = float(bins / span) if span > 0 else 0.0
        own = np.clip((exact - exact[0]) * scale, 0, bins - 1).astype(np.int64)
        return cls(scale, np.cumsum([0, *np.bincount(own, minlength=bins)]).astype(np.uint32))


Numbers = NDArray[np.int32]

MOST_NODES = 2**28 - 2
"""Compiled walks number the questions that splits ask in 28 bits."""


class FlatTrees:
    """All nodes of a forest of T trees, N in all, numbered in 32 bits: what is made on the way to the tables is large.

    Parameters
    ----------
    classifier : RandomForestClassifier, ExtraTreesClassifier or DecisionTreeClassifier

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
        members = trees_of(classifier)
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


class NodesOfTrees(Protocol):
    """The nodes of all trees, numbered through; children of leaves are of no meaning."""

    roots: Numbers
    left: Numbers
    right: Numbers
    is_split: NDArray[np.bool_]


def siblings_adjacent(trees: NodesOfTrees) -> tuple[Numbers, Numbers]:
    """Order the nodes of each tree by depth, siblings side by side.

    Returns
    -------
    order : ndarray of int32, shape (N,)
        The node that comes to each place; roots keep theirs if the trees' nodes follow each other.
    child : ndarray of int32, shape (N,)
        By place: the place of the left child, or the place itself for a leaf.
    """
    tree = np.zeros(len(trees.left), dtype=np.int32)
    tree[trees.roots] = np.arange(len(trees.roots))
    level, levels = trees.roots, []
    while len(level):
        levels.append(level)
        parents = level[trees.is_split[level]]
        level = np.stack([trees.left[parents], trees.right[parents]], axis=1).ravel()
        tree[level] = np.repeat(tree[parents], 2)
    order = np.concatenate(levels)
    order = order[np.argsort(tree[order], kind="stable")]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    splits = trees.is_split[order]
    child = np.arange(len(order), dtype=np.int32)
    child[splits] = place[trees.left[order[splits]]]
    return order, child


def rounded_down(thresholds: Any) -> NDArray[np.float32]:
    """Return the largest float32 not above each threshold.

    scikit-learn compares a float32 value with a float64 threshold. The value is at most the threshold exactly if it is
    at most this.
    """
    with np.errstate(over="ignore"):
        rounded: NDArray[np.float32] = thresholds.astype(np.float32)
    above = rounded > thresholds
    rounded[above] = np.nextafter(rounded[above], np.float32(-np.inf))
    return rounded


def members_of(classifier: Any) -> list[Any]:
    """Return the decision trees of a forest; a decision tree is a forest of one."""
    return list(getattr(classifier, "estimators_", [classifier]))


def trees_of(classifier: Any) -> list[Any]:
    """Return scikit-learn's arrays of each decision tree of a forest."""
    return [member.tree_ for member in members_of(classifier)]


def require_plain(classifier: Any) -> None:
    """Refuse classifiers of which more would have to be known than their trees.

    Raises
    ------
    UnavailableError
        The message says why.
    """
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    if type(classifier) not in (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier):
        raise UnavailableError(
            f"the classifier is a {type(classifier).__name__}, not a RandomForestClassifier, an ExtraTreesClassifier "
            "or a DecisionTreeClassifier"
        )
    if any(type(member) not in (DecisionTreeClassifier, ExtraTreeClassifier) for member in members_of(classifier)):
        raise UnavailableError("a member of the forest is no DecisionTreeClassifier")
    if classifier.n_outputs_ != 1:
        raise UnavailableError(f"the forest has {classifier.n_outputs_} outputs")
    if classifier.monotonic_cst is not None:
        raise UnavailableError("the forest was grown under monotonic constraints")
    trees = trees_of(classifier)
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


LEVELS = 4
"""Into how many parts the order of rows cuts a numerical feature."""

KEY_BITS = 22
"""What the order of rows looks at, all parts together."""

_FINEST = 2.0**20

_CLEAR = 1e-9
"""How far apart two sums of votes must be, a tree, for their order to be beyond rounding."""


class PackedForest(NamedTuple):
    """The arrays of :class:`ForestTables`, joined into a few, as compiled queries take them.

    Parameters
    ----------
    nodes, shares, thresholds
        As there.
    numbers : ndarray of uint32
        Roots, first leaves, bins, cells of codes.
    integers : ndarray of int64
        Counts of trees, features, bins, and of the nodes of the largest tree; whether shares add up, the first class
        summed, whether sums are float32, whether classes follow from the softmax; then the arrays by feature.
    floats : ndarray of float64
        The margin, the divisor, the bar; then the arrays by feature.
    """

    nodes: NDArray[np.uint64]
    shares: FloatArray
    thresholds: NDArray[np.floating[Any]]
    numbers: NDArray[np.uint32]
    integers: IntArray
    floats: FloatArray


class ForestTables(NamedTuple):
    """A forest or a boosted ensemble of T trees with N nodes over the u features that it uses, K classes.

    A *slot* stands for a question that splits ask: the slots of a feature follow each other, one a threshold or an
    indicator column, and one spare at their end.

    Parameters
    ----------
    nodes : ndarray of uint64, shape (N,)
        From the top: left child, 32 bits; four bits, whether the right child is a split, the left child is a split,
        the right child is a leaf, the left child is a leaf; slot, 28 bits. The right child is the left one's successor.
        Walks do not go on to leaves of the first class alone, so neither bit is set for these. A leaf holds its number
        instead of a child, has none of the four bits, and its slot is the one past the last: nothing goes right there.
    roots, first_leaf : ndarray of uint32, shape (T,)
        A tree's first node, the number of its first leaf.
    shares : ndarray of float64, shape (K, leaves + 1)
        The classes' shares in each leaf; the last number stands for all leaves of the first class alone.
    add_up : bool
        Whether the shares of each leaf add up to 1, as votes do.
    first_summed : int
        The first class whose shares are summed up: 1 where those of class 0 follow from the others or are all 0.
    clear : float
        How far apart two sums must be to decide whatever the order of addition; 0 where all sums are exact.
    rule : DecisionRule
        How the class follows from sums in the order of the trees.
    features : ndarray of int64, shape (u,)
    is_coded : ndarray of bool, shape (u,)
        Which of them are one-hot encoded.
    first_slot : ndarray of int64, shape (u + 1,)
    thresholds : ndarray of float32 or float64
        By slot, ascending within a feature; of no meaning for one-hot encoded features. Values are compared in this
        number type.
    first_bin : ndarray of int64, shape (u + 1,)
    bin_scale : ndarray of float64, shape (u,)
    before_bin : ndarray of uint32
        An index of each feature's thresholds, see :class:`cfbench_models.forest.tables.ThresholdBins`.
    first_code : ndarray of int64, shape (u + 1,)
    cell_of_code : ndarray of uint32
        For one-hot encoded features, by code: the indicator column, or the number of them where none is set. The last
        entry of a feature is for what is no code.
    weights : ndarray of float64, shape (u,)
        How many rows the splits of a feature separate, in shares of the training rows.
    """

    nodes: NDArray[np.uint64]
    roots: NDArray[np.uint32]
    first_leaf: NDArray[np.uint32]
    shares: FloatArray
    add_up: bool
    first_summed: int
    clear: float
    rule: DecisionRule
    features: IntArray
    is_coded: NDArray[np.bool_]
    first_slot: IntArray
    thresholds: NDArray[np.floating[Any]]
    first_bin: IntArray
    bin_scale: FloatArray
    before_bin: NDArray[np.uint32]
    first_code: IntArray
    cell_of_code: NDArray[np.uint32]
    weights: FloatArray

    def packed(self) -> PackedForest:
        """Return the tables in a few arrays, since each one that is passed to compiled code takes time."""
        sizes = np.diff(self.roots.astype(np.int64), append=len(self.nodes))
        counts = [len(self.roots), len(self.features), len(self.before_bin), sizes.max()]
        choices = [self.add_up, self.first_summed, self.rule.single, self.rule.softmax]
        by_feature = (self.features, self.is_coded, self.first_slot, self.first_bin, self.first_code)
        return PackedForest(
            self.nodes,
            self.shares,
            self.thresholds,
            np.concatenate([self.roots, self.first_leaf, self.before_bin, self.cell_of_code]),
            np.concatenate([counts, choices, *by_feature]).astype(np.int64),
            np.concatenate([[self.clear, self.rule.divisor, self.rule.bar], self.bin_scale, self.weights]),
        )

    def levels(self) -> IntArray:
        """Return what orders rows such that neighbours are alike, shape (features, 2): position in `features`, levels.

        The features with the largest weights come first; the levels multiply to less than ``2**KEY_BITS``.
        """
        levels, left = [], 2**KEY_BITS
        for f in np.argsort(-self.weights, kind="stable"):
            cells = int(self.first_slot[f + 1] - self.first_slot[f])
            wanted = cells if self.is_coded[f] else min(cells, LEVELS)
            if wanted > left:
                break
            levels.append((f, wanted))
            left //= wanted
        return np.array(levels, dtype=np.int64).reshape(-1, 2)


class _Feature(NamedTuple):
    """What one feature adds to the tables; its splits are given separately."""

    position: int
    thresholds: NDArray[np.floating[Any]]
    cell_of_code: NDArray[np.uint32]
    is_coded: bool
    weight: float


def forest_tables(classifier: Any, encoding: Encoding) -> ForestTables:
    """Flatten a fitted forest.

    Parameters
    ----------
    classifier : RandomForestClassifier, ExtraTreesClassifier or DecisionTreeClassifier
    encoding : Encoding
        What its columns are made by.

    Raises
    ------
    UnavailableError
        If the forest has something that the tables cannot express; the message names it.
    """
    if encoding.mean is not None:
        raise UnavailableError("the forest's columns are standardised")
    trees = FlatTrees(classifier)
    slots: Numbers = np.zeros(len(trees.left), dtype=np.int32)
    used, first_slot = [], [0]
    for feature, splits, places in _used_features(trees, encoding):
        slots[splits] = first_slot[-1] + places
        first_slot.append(first_slot[-1] + len(feature.thresholds) + 1)
        used.append(feature)
    slots[~trees.is_split] = first_slot[-1]
    order, child = siblings_adjacent(trees)
    is_split, slots = trees.is_split[order], slots[order]
    of_leaves, roots = trees.shares[order[~is_split]], trees.roots
    del trees, order  # what is made from here on is as large again
    is_leaf = ~is_split
    is_leaf[is_leaf] = of_leaves[:, 0] != 1
    leaves_before = np.cumsum(is_leaf, dtype=np.int32) - is_leaf
    number = np.where(is_leaf, leaves_before, leaves_before[-1] + is_leaf[-1])
    shares = of_leaves[of_leaves[:, 0] != 1].T
    sums_are_exact = _sums_are_exact(of_leaves.T)
    return ForestTables(
        nodes=_packed(np.where(is_split, child, number), slots, is_split, is_split | is_leaf),
        roots=roots.astype(np.uint32),
        first_leaf=leaves_before[roots].astype(np.uint32),
        shares=np.append(shares, np.eye(len(shares))[:, :1], axis=1),
        add_up=True,
        first_summed=1,
        clear=0.0 if sums_are_exact else _CLEAR * len(roots),
        rule=DecisionRule(single=False, softmax=False, divisor=float(len(roots)), bar=0.0),
        **_by_feature(used, np.float32),
    )


def additive_tables(structure: ForestStructure) -> ForestTables:
    """Flatten an ensemble whose shares are scores, given by its structure; values are compared in float64.

    Raises
    ------
    UnavailableError
        If the structure's splits cannot be numbered.
    """
    trees = _StructureTrees(structure)
    if len(trees.left) > MOST_NODES:
        raise UnavailableError(f"the ensemble has {len(trees.left)} nodes, more than {MOST_NODES}")
    slots: Numbers = np.zeros(len(trees.left), dtype=np.int32)
    used, first_slot = [], [0]
    for position in range(structure.d):
        splits = np.flatnonzero(trees.is_split & (structure.nodes[:, 0] == position))
        if len(splits) == 0:
            continue
        feature = _feature_of(structure, position, float(trees.weight[splits].sum()))
        cuts = structure.nodes[splits, 1]
        slots[splits] = first_slot[-1] + np.where(cuts >= 0, cuts, -1 - cuts)
        first_slot.append(first_slot[-1] + len(feature.thresholds) + 1)
        used.append(feature)
    slots[~trees.is_split] = first_slot[-1]
    order, child = siblings_adjacent(trees)
    is_split = trees.is_split[order]
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    leaves_before = np.cumsum(~is_split, dtype=np.int32) - ~is_split
    roots = place[trees.roots]
    shares = structure.shares[structure.nodes[order[~is_split], 2]].T
    return ForestTables(
        nodes=_packed(np.where(is_split, child, leaves_before), slots[order], is_split, np.ones_like(is_split)),
        roots=roots.astype(np.uint32),
        first_leaf=leaves_before[roots].astype(np.uint32),
        shares=np.append(shares, np.zeros((len(shares), 1)), axis=1),
        add_up=False,
        first_summed=0 if shares[0].any() else 1,
        clear=structure.rounding,
        rule=structure.walked.rule,
        **_by_feature(used, np.float64),
    )


class _StructureTrees:
    """The nodes of a structure, and how many rows come to a node if each split halves them."""

    def __init__(self, structure: ForestStructure) -> None:
        self.roots: Numbers = structure.roots
        self.left: Numbers = structure.nodes[:, 2]
        self.right: Numbers = structure.nodes[:, 3]
        self.is_split = structure.nodes[:, 0] >= 0
        self.weight = np.ones(len(self.left))
        level = self.roots
        while len(level):
            parents = level[self.is_split[level]]
            level = np.concatenate([self.left[parents], self.right[parents]])
            self.weight[level] = np.tile(self.weight[parents] / 2, 2)


def _feature_of(structure: ForestStructure, position: int, weight: float) -> _Feature:
    """Return what a feature that splits look at adds to the tables."""
    if not structure.is_coded[position]:
        return _Feature(position, structure.boundaries[position], np.empty(0, dtype=np.uint32), False, weight)
    n = int(structure.n_cells[position])
    cells = np.append(structure.cell_of_code[position], n).astype(np.uint32)  # what is no code sets no indicator
    return _Feature(position, np.zeros(n), cells, True, weight)


def _by_feature(used: list[_Feature], number: type[np.floating[Any]]) -> dict[str, Any]:
    """Return the tables' fields that are about features; thresholds have the given type."""
    bins = [ThresholdBins.of(feature.thresholds) for feature in used]
    return {
        "features": np.array([feature.position for feature in used], dtype=np.int64),
        "is_coded": np.array([feature.is_coded for feature in used], dtype=bool),
        "first_slot": np.cumsum([0, *(len(feature.thresholds) + 1 for feature in used)], dtype=np.int64),
        "thresholds": _joined([np.append(feature.thresholds, number(0)) for feature in used], number),
        "first_bin": _starts([one.before for one in bins]),
        "bin_scale": np.array([one.scale for one in bins], dtype=np.float64),
        "before_bin": _joined([one.before for one in bins], np.uint32),
        "first_code": _starts([feature.cell_of_code for feature in used]),
        "cell_of_code": _joined([feature.cell_of_code for feature in used], np.uint32),
        "weights": np.array([feature.weight for feature in used], dtype=np.float64),
    }


def _used_features(trees: FlatTrees, encoding: Encoding) -> Iterator[tuple[_Feature, Any, Any]]:
    """Yield each feature that splits look at, with these splits and the places of their slots among its own."""
    for position, columns, table in _columns(encoding):
        splits = np.flatnonzero(trees.is_split & (trees.column >= columns.start) & (trees.column < columns.stop))
        if len(splits) == 0:
            continue
        thresholds, weight = trees.threshold[splits], float(trees.weight[splits].sum())
        if table is None:
            own, places = np.unique(thresholds, return_inverse=True)
            yield _Feature(position, own, np.empty(0, dtype=np.uint32), False, weight), splits, places
            continue
        if not ((thresholds >= 0) & (thresholds < 1)).all():
            raise UnavailableError("a split of an indicator column does not lie between 0 and 1")
        n = len(columns)
        cell_of_code = np.where(table.any(axis=1), table.argmax(axis=1), n).astype(np.uint32)
        feature = _Feature(position, np.zeros(n, dtype=np.float32), cell_of_code, True, weight)
        yield feature, splits, trees.column[splits] - columns.start


def _columns(encoding: Encoding) -> Iterator[tuple[int, range, FloatArray | None]]:
    """Yield each feature with its columns and, where it is one-hot encoded, its table."""
    for feature, column in zip(encoding.copied, encoding.columns, strict=True):
        yield int(feature), range(int(column), int(column) + 1), None
    for part in encoding.one_hot:
        yield part.feature, range(part.start, part.start + part.table.shape[1]), part.table


def _packed(
    first: Numbers, slots: Numbers, is_split: NDArray[np.bool_], matters: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Pack nodes: left children or leaves' numbers, slots, which nodes are splits, which ones walks go on to."""
    # By bit: the left child is a leaf, the right one is; the left child is a split, the right one is.
    flags = np.zeros((4, len(first)), dtype=bool)
    for side, (split, leaf) in enumerate(((2, 0), (3, 1))):
        child = first[is_split] + side
        flags[split, is_split] = is_split[child]
        flags[leaf, is_split] = matters[child] & ~is_split[child]
    if not flags[:, is_split].any(axis=0).all():
        raise UnavailableError("a split has two leaves of the first class alone")
    packed = np.zeros(len(first), dtype=np.uint64)
    for field, shift in [(first, 32), *((flags[bit], 28 + bit) for bit in range(4)), (slots, 0)]:
        packed |= field.astype(np.uint64) << np.uint64(shift)
    return packed


def _sums_are_exact(shares: FloatArray) -> bool:
    """Whether the leaves' shares are few-digit binary fractions that add up to 1, as those of pure leaves are."""
    return bool((shares * _FINEST % 1 == 0).all() and (shares.sum(axis=0) == 1).all())


def _starts(parts: list[Any]) -> IntArray:
    """Return where each part starts in the joined array, and where the last one ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _joined(parts: list[Any], dtype: type[np.generic]) -> Any:
    return np.concatenate([*parts, np.empty(0)]).astype(dtype)
