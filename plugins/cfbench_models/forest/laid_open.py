"""From trees over the columns of an encoding to the structure that white boxes read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import UnavailableError
from cfbench.forests import Decision, ForestStructure
from cfbench.models import Encoding, ScikitModel
from cfbench.space import FloatArray, IntArray

Thresholds = NDArray[Any]

_KEPT: WeakKeyDictionary[TreeModel, ForestStructure] = WeakKeyDictionary()
"""Outside the models, so that it is not stored with them."""


class TreeModel(ScikitModel):
    """A fitted model that shows its trees."""

    def forest_structure(self) -> ForestStructure:
        """Return the trees, laid open for white boxes; made when it is first needed.

        Raises
        ------
        UnavailableError
            If the model has something that the structure cannot express; the message names it.
        """
        if self not in _KEPT:
            _KEPT[self] = self.laid_open()
        return _KEPT[self]

    @abstractmethod
    def laid_open(self) -> ForestStructure:
        """Make the structure."""


class ColumnTrees(Protocol):
    """Trees of N nodes over the columns of an encoding."""

    @property
    def roots(self) -> NDArray[np.int32]:
        """The first node of each tree, shape (T,)."""

    @property
    def is_split(self) -> NDArray[np.bool_]:
        """Which nodes have children, shape (N,)."""

    @property
    def left(self) -> NDArray[np.int32]:
        """Left children of splits, shape (N,)."""

    @property
    def right(self) -> NDArray[np.int32]:
        """Right children of splits, shape (N,)."""

    @property
    def column(self) -> NDArray[np.int32]:
        """What splits look at, shape (N,)."""

    @property
    def threshold(self) -> Thresholds:
        """What splits compare with, in the library's number type, shape (N,)."""

    @property
    def shares(self) -> FloatArray:
        """What leaves add to each class, shape (N, K)."""


def laid_open(
    trees: ColumnTrees,
    encoding: Encoding,
    classes: IntArray,
    last_left: Callable[[Thresholds], FloatArray],
    *,
    decision: Decision = Decision.MEAN,
    single: bool = False,
    bar: float = 0.0,
) -> ForestStructure:
    """Return the structure of trees: splits on an indicator column become cuts that single out a category.

    Parameters
    ----------
    trees : ColumnTrees
    encoding : Encoding
        What makes the columns.
    classes : ndarray of int64, shape (K,)
    last_left : callable
        Returns the largest float64 number that goes left at each threshold.
    decision, single, bar
        As in :class:`cfbench.forests.ForestStructure`.

    Raises
    ------
    UnavailableError
        If a split of an indicator column does not separate 0 and 1.
    """
    d = len(encoding.copied) + len(encoding.one_hot)
    feature, cut = np.full(len(trees.left), -1), np.zeros(len(trees.left), dtype=np.int64)
    boundaries: list[FloatArray] = [np.empty(0)] * d
    cells: list[IntArray] = [np.empty(0, dtype=np.int64)] * d
    for position, column in zip(encoding.copied, encoding.columns, strict=True):
        splits = np.flatnonzero(trees.is_split & (trees.column == column))
        thresholds, place = np.unique(trees.threshold[splits], return_inverse=True)
        ends = encoding.last_up_to(int(position), last_left(thresholds))
        # Standardising may round several thresholds to one.
        boundaries[position], joined = np.unique(ends, return_inverse=True)
        cut[splits], feature[splits] = joined[place], position
    for part in encoding.one_hot:
        n = part.table.shape[1]
        splits = np.flatnonzero(trees.is_split & (trees.column >= part.start) & (trees.column < part.start + n))
        ends = last_left(trees.threshold[splits])
        if not ((ends >= 0) & (ends < 1)).all():
            raise UnavailableError("a split of an indicator column does not lie between 0 and 1")
        # A cell is an indicator column; codes without one, all-zero rows, share the cell after the last.
        codes = part.table[:-1]
        cells[part.feature] = np.where(codes.any(axis=1), codes.argmax(axis=1), n).astype(np.int64)
        feature[splits], cut[splits] = part.feature, -1 - (trees.column[splits].astype(np.int64) - part.start)
    leaf = ~trees.is_split
    left = np.where(leaf, np.cumsum(leaf) - 1, trees.left)
    nodes = np.stack([feature, cut, left, np.where(leaf, 0, trees.right)], axis=1)
    return ForestStructure(
        classes=np.asarray(classes, dtype=np.int64),
        nodes=nodes.astype(np.int32),
        roots=trees.roots.astype(np.int32),
        shares=np.ascontiguousarray(trees.shares[leaf]),
        boundaries=tuple(boundaries),
        cell_of_code=tuple(cells),
        decision=decision,
        single=single,
        bar=bar,
    )


def last_single_up_to(thresholds: NDArray[np.float32]) -> FloatArray:
    """Return the largest float64 number that is at most each float32 threshold after rounding to float32.

    Rounding goes to the nearest and halfway to the even one: what lies less than half a step above a threshold is still
    rounded to it.
    """
    exact = thresholds.astype(np.float64)
    with np.errstate(over="ignore"):
        above = np.nextafter(thresholds, np.float32(np.inf)).astype(np.float64)
        halfway = exact + (above - exact) / 2
        stays: FloatArray = np.where(halfway.astype(np.float32) == thresholds, halfway, np.nextafter(halfway, -np.inf))
    return stays


def last_single_below(thresholds: NDArray[np.float32]) -> FloatArray:
    """Return the largest float64 number that is below each float32 threshold after rounding to float32."""
    return last_single_up_to(np.nextafter(thresholds, np.float32(-np.inf)))
