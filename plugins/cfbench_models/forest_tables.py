"""A fitted forest in the features of the data set instead of the columns of its encoding, ready for compiled walks.

Only comparisons matter to a tree, so a row is its *cells*: for a feature that is copied into a column, how many of the
forest's thresholds there lie below the value; for a feature that is one-hot encoded, which indicator column is set. A
forest is constant on rows with equal cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, IntArray, UnavailableError
from cfbench_models.encoding import Encoding
from cfbench_models.flat_trees import FlatTrees, Numbers
from cfbench_models.threshold_bins import ThresholdBins

LEVELS = 4
"""Into how many parts the order of rows cuts a numerical feature."""

KEY_BITS = 22
"""What the order of rows looks at, all parts together."""

_FINEST = 2.0**20


class ForestTables(NamedTuple):
    """A forest of T trees with N nodes over the u features that it uses, K classes.

    A *slot* stands for a question that splits ask: the slots of a feature follow each other, one a threshold or an
    indicator column, and one spare at their end.

    Parameters
    ----------
    nodes : ndarray of uint64, shape (N,)
        From the top: left child, 32 bits; whether walks go on to the right child, and to the left one, a bit each;
        slot, 30 bits. The right child is the left one's successor. Walks do not go on to leaves of the first class
        alone. A leaf holds its number instead of a child, no walk goes on from it, and its slot is the one past the
        last: nothing goes right there.
    roots, first_leaf : ndarray of uint32, shape (T,)
        A tree's first node, the number of its first leaf.
    shares : ndarray of float64, shape (K, leaves + 1)
        The classes' shares in each leaf; the last number stands for all leaves of the first class alone.
    exact : bool
        Whether sums of the shares are exact in float64, in any order.
    features : ndarray of int64, shape (u,)
    is_coded : ndarray of bool, shape (u,)
        Which of them are one-hot encoded.
    first_slot : ndarray of int64, shape (u + 1,)
    thresholds : ndarray of float32
        By slot, ascending within a feature; of no meaning for one-hot encoded features.
    first_bin : ndarray of int64, shape (u + 1,)
    bin_scale : ndarray of float64, shape (u,)
    before_bin : ndarray of uint32
        An index of each feature's thresholds, see :class:`cfbench_models.threshold_bins.ThresholdBins`.
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
    exact: bool
    features: IntArray
    is_coded: NDArray[np.bool_]
    first_slot: IntArray
    thresholds: NDArray[np.float32]
    first_bin: IntArray
    bin_scale: FloatArray
    before_bin: NDArray[np.uint32]
    first_code: IntArray
    cell_of_code: NDArray[np.uint32]
    weights: FloatArray

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
    """What one feature adds to the tables; its splits are given beside it."""

    position: int
    thresholds: NDArray[np.float32]
    cell_of_code: NDArray[np.uint32]
    is_coded: bool
    weight: float


def forest_tables(classifier: Any, encoding: Encoding) -> ForestTables:
    """Flatten a fitted random forest.

    Parameters
    ----------
    classifier : RandomForestClassifier
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
    order, child = trees.siblings_adjacent()
    is_split, slots = trees.is_split[order], slots[order]
    of_leaves, roots = trees.shares[order[~is_split]], trees.roots
    del trees, order  # what is made from here on is as large again
    is_leaf = ~is_split
    is_leaf[is_leaf] = of_leaves[:, 0] != 1
    leaves_before = np.cumsum(is_leaf, dtype=np.int32) - is_leaf
    number = np.where(is_leaf, leaves_before, leaves_before[-1] + is_leaf[-1])
    shares = of_leaves[of_leaves[:, 0] != 1].T
    bins = [ThresholdBins.of(feature.thresholds) for feature in used]
    return ForestTables(
        nodes=_packed(np.where(is_split, child, number), slots, is_split, is_split | is_leaf),
        roots=roots.astype(np.uint32),
        first_leaf=leaves_before[roots].astype(np.uint32),
        shares=np.append(shares, np.eye(len(shares))[:, :1], axis=1),
        exact=_sums_are_exact(of_leaves.T),
        features=np.array([feature.position for feature in used], dtype=np.int64),
        is_coded=np.array([feature.is_coded for feature in used], dtype=bool),
        first_slot=np.array(first_slot, dtype=np.int64),
        thresholds=_joined([np.append(feature.thresholds, np.float32(0)) for feature in used], np.float32),
        first_bin=_starts([one.before for one in bins]),
        bin_scale=np.array([one.scale for one in bins], dtype=np.float64),
        before_bin=_joined([one.before for one in bins], np.uint32),
        first_code=_starts([feature.cell_of_code for feature in used]),
        cell_of_code=_joined([feature.cell_of_code for feature in used], np.uint32),
        weights=np.array([feature.weight for feature in used], dtype=np.float64),
    )


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
    goes_left, goes_right = np.zeros_like(is_split), np.zeros_like(is_split)
    goes_left[is_split], goes_right[is_split] = matters[first[is_split]], matters[first[is_split] + 1]
    if not (goes_left | goes_right)[is_split].all():
        raise UnavailableError("a split has two leaves of the first class alone")
    packed = np.zeros(len(first), dtype=np.uint64)
    for field, shift in [(first, 32), (goes_right, 31), (goes_left, 30), (slots, 0)]:
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
