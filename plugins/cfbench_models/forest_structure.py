"""The random forest laid open for white boxes, in the features of the data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cfbench import FloatArray, ForestStructure, IntArray, UnavailableError
from cfbench_models.encoding import Encoding
from cfbench_models.flat_trees import FlatTrees

if TYPE_CHECKING:
    from cfbench_models.random_forest import ForestModel

_KEPT: WeakKeyDictionary[ForestModel, ForestStructure] = WeakKeyDictionary()
"""Beside the models, not in them: what is kept here is not stored with them."""


def structure_of(model: ForestModel) -> ForestStructure:
    """Return a fitted forest's structure, made when it is first asked for.

    Raises
    ------
    UnavailableError
        If the forest has something that the structure cannot express; the message names it.
    """
    if model not in _KEPT:
        _KEPT[model] = _made(model.classifier, model.encoding)
    return _KEPT[model]


def _made(classifier: Any, encoding: Encoding) -> ForestStructure:
    if encoding.mean is not None:
        raise UnavailableError("the forest's columns are standardised")
    trees = FlatTrees(classifier)
    d = len(encoding.copied) + len(encoding.one_hot)
    feature, cut = np.full(len(trees.left), -1), np.zeros(len(trees.left), dtype=np.int64)
    boundaries: list[FloatArray] = [np.empty(0)] * d
    cells: list[IntArray] = [np.empty(0, dtype=np.int64)] * d
    for position, column in zip(encoding.copied, encoding.columns, strict=True):
        splits = np.flatnonzero(trees.is_split & (trees.column == column))
        thresholds, cut[splits] = np.unique(trees.threshold[splits], return_inverse=True)
        boundaries[position], feature[splits] = last_left(thresholds), position
    for position, splits, own, cell_of_code in _coded(trees, encoding):
        feature[splits], cut[splits], cells[position] = position, -1 - own, cell_of_code
    leaf = ~trees.is_split
    left = np.where(leaf, np.cumsum(leaf) - 1, trees.left)
    nodes = np.stack([feature, cut, left, np.where(leaf, 0, trees.right)], axis=1)
    return ForestStructure(
        classes=np.asarray(classifier.classes_, dtype=np.int64),
        nodes=nodes.astype(np.int32),
        roots=trees.roots.astype(np.int32),
        shares=np.ascontiguousarray(trees.shares[leaf]),
        boundaries=tuple(boundaries),
        cell_of_code=tuple(cells),
    )


def _coded(trees: FlatTrees, encoding: Encoding) -> Iterator[tuple[int, IntArray, IntArray, IntArray]]:
    """Yield each one-hot encoded feature with its splits, the cells that they single out, and the cell of each code.

    A cell is an indicator column; codes without one, all-zero rows, share the cell after the last.
    """
    for part in encoding.one_hot:
        n = part.table.shape[1]
        splits = np.flatnonzero(trees.is_split & (trees.column >= part.start) & (trees.column < part.start + n))
        if not ((trees.threshold[splits] >= 0) & (trees.threshold[splits] < 1)).all():
            raise UnavailableError("a split of an indicator column does not lie between 0 and 1")
        codes = part.table[:-1]
        cell_of_code = np.where(codes.any(axis=1), codes.argmax(axis=1), n)
        yield part.feature, splits, trees.column[splits].astype(np.int64) - part.start, cell_of_code.astype(np.int64)


def last_left(thresholds: NDArray[np.float32]) -> FloatArray:
    """Return the largest float64 number that goes left at each float32 threshold.

    A forest rounds a value to float32 first, to the nearest and halfway to the even one: what lies less than half a
    step above a threshold still goes left.
    """
    exact = thresholds.astype(np.float64)
    above = np.nextafter(thresholds, np.float32(np.inf)).astype(np.float64)
    halfway = exact + (above - exact) / 2
    stays: FloatArray = np.where(halfway.astype(np.float32) == thresholds, halfway, np.nextafter(halfway, -np.inf))
    return stays
