"""A forest laid open: its trees as arrays over the cells that its splits cut each feature into.

Only comparisons matter to a tree. So a feature's values fall into *cells*, within which no split separates them. A
point is one cell per feature, and the forest is a function of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cfbench.errors import ModelError, UnavailableError
from cfbench.space.space import BoolArray, FloatArray, IntArray

Int32Array = NDArray[np.int32]

_CLEAR = 1e-9
"""How far apart two votes must be, a tree and as a share of the largest vote of a leaf where that is above 1."""

_FINEST = 2.0**20
"""Sums below this of multiples of its inverse are exact in float64."""


class ForestNodes(NamedTuple):
    """The arrays that compiled walks read, as :class:`ForestStructure` describes them."""

    nodes: Int32Array
    roots: Int32Array
    shares: FloatArray


@dataclass(frozen=True, eq=False)
class ForestStructure:
    """A forest of T trees with N nodes and L leaves over d features, K classes.

    A point's class is that with the largest vote: its leaves' shares added up in float64 in the order of the trees and
    divided by their number; of classes with equal votes, the one that comes first.

    Parameters
    ----------
    classes : ndarray of int64, shape (K,)
        Class codes, in the order that ties are decided by.
    nodes : ndarray of int32, shape (N, 4)
        A row a node: feature, cut, left child, right child. A cut ``c >= 0`` sends cells above `c` to the right; a cut
        ``-1 - c`` sends cell `c` alone to the right, as a split on an indicator column does. A leaf has -1 for a
        feature and its row of `shares` for a left child.
    roots : ndarray of int32, shape (T,)
    shares : ndarray of float64, shape (L, K)
        What each leaf adds to the votes.
    boundaries : tuple of ndarray of float64
        A feature each, ascending: the last value of every cell but the highest one. A forest that rounds values first
        names the largest float64 number that still goes left. Empty for coded features and for those never looked at.
    cell_of_code : tuple of ndarray of int64
        For a *coded* feature, one whose cells have no order: the cell of each category code. Several codes may share
        one, as categories that training lacked do. Empty for all others.

    Raises
    ------
    ModelError
        If the arrays contradict each other.
    """

    classes: IntArray
    nodes: Int32Array
    roots: Int32Array
    shares: FloatArray
    boundaries: tuple[FloatArray, ...]
    cell_of_code: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        for name, dtype in (("classes", np.int64), ("nodes", np.int32), ("roots", np.int32), ("shares", np.float64)):
            object.__setattr__(self, name, np.require(getattr(self, name), dtype, ["C"]))
        objection = next(self._objections(), "")
        if objection:
            raise ModelError(f"the forest's structure contradicts itself: {objection}")

    @property
    def d(self) -> int:
        """Number of features."""
        return len(self.boundaries)

    @cached_property
    def is_coded(self) -> BoolArray:
        """Which features have cells without an order, shape (d,)."""
        return np.array([len(cells) > 0 for cells in self.cell_of_code])

    @cached_property
    def n_cells(self) -> IntArray:
        """Number of cells a feature, shape (d,)."""
        pairs = zip(self.boundaries, self.cell_of_code, strict=True)
        counts = [int(cells.max()) + 1 if len(cells) else len(ends) + 1 for ends, cells in pairs]
        return np.maximum(counts, self._cells_named)

    @cached_property
    def first_cell(self) -> IntArray:
        """Where each feature's cells start when all are numbered through, shape (d + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_cells)]).astype(np.int64)

    @cached_property
    def depth(self) -> int:
        """The largest number of splits on a way from a root to a leaf."""
        from cfbench.forests.walks import depth_of  # it loads the compiler

        return int(depth_of(self.nodes, self.roots))

    @cached_property
    def sums_are_exact(self) -> bool:
        """Whether shares add up without rounding, in any order, as those of pure leaves do."""
        few_digits = self.shares * _FINEST % 1 == 0
        return bool(few_digits.all() and np.abs(self.shares).max(initial=0.0) * len(self.roots) < _FINEST)

    @cached_property
    def rounding(self) -> float:
        """How near to 0 a difference between two votes may be and still have the other sign, added up otherwise."""
        return _CLEAR * len(self.roots) * max(1.0, float(np.abs(self.shares).max(initial=0.0)))

    @cached_property
    def walked(self) -> ForestNodes:
        """The arrays that compiled walks read."""
        return ForestNodes(self.nodes, self.roots, self.shares)

    def cells(self, Z: FloatArray) -> IntArray:
        """Return the cells of the rows of `Z`, shape (n, d); categories are codes."""
        found = np.empty(Z.shape, dtype=np.int64)
        for i, (ends, cells) in enumerate(zip(self.boundaries, self.cell_of_code, strict=True)):
            found[:, i] = cells[Z[:, i].astype(np.intp)] if len(cells) else np.searchsorted(ends, Z[:, i], side="left")
        return found

    def predict_cells(self, cells: IntArray) -> IntArray:
        """Return the class codes of points given by their cells, shape (n, d)."""
        from cfbench.forests.walks import classes_of_cells  # it loads the compiler

        codes: IntArray = self.classes[classes_of_cells(self.walked, np.require(cells, np.int64, ["C"]))]
        return codes

    def place_of(self, target: int) -> int | None:
        """Return where a class stands in `classes`; None where the forest never says it."""
        places = np.flatnonzero(self.classes == target)
        return int(places[0]) if len(places) else None

    @cached_property
    def _is_leaf(self) -> BoolArray:
        leaf: BoolArray = self.nodes[:, 0] < 0
        return leaf

    @cached_property
    def _cells_named(self) -> IntArray:
        """The number of cells that the splits of each feature need."""
        splits = self.nodes[~self._is_leaf]
        named = np.ones(self.d, dtype=np.int64)
        cuts = splits[:, 1].astype(np.int64)
        np.maximum.at(named, splits[:, 0], np.where(cuts >= 0, 1, -cuts))
        return named

    def _objections(self) -> Iterator[str]:
        """Yield what is wrong with the arrays; each look relies on those before it."""
        nodes, shares = self.nodes, self.shares
        if nodes.ndim != 2 or nodes.shape[1] != 4 or len(nodes) >= 2**31:
            yield f"nodes have shape {nodes.shape}, not (N, 4) with N below 2**31"
        if shares.ndim != 2 or shares.shape[1] != len(self.classes) or not np.isfinite(shares).all():
            yield f"shares of shape {shares.shape} do not give {len(self.classes)} classes a finite number each"
        if len(self.boundaries) != len(self.cell_of_code) or self.d == 0:
            yield f"{len(self.boundaries)} features have boundaries, {len(self.cell_of_code)} have cells of codes"
        rows, children = nodes[self._is_leaf][:, 2], nodes[~self._is_leaf][:, 2:]
        if not ((rows >= 0) & (rows < len(shares))).all():
            yield "a leaf has no row of shares"
        named = np.concatenate([self.roots, children.ravel()])
        if len(self.roots) == 0 or not ((named >= 0) & (named < len(nodes))).all():
            yield "there is no tree, or a root or a child is no node"
        if np.bincount(named).max() > 1:
            yield "a node has two parents, or a root has one"
        feature, cut = nodes[~self._is_leaf][:, :2].T
        if not (feature < self.d).all():
            yield f"a split looks at feature {feature.max()}, and there are {self.d}"
        ends = np.array([len(of_feature) for of_feature in self.boundaries])[feature]
        if not np.where(self.is_coded[feature], cut < 0, (cut >= 0) & (cut < ends)).all():
            yield "a cut names no boundary of its feature"
        if any((np.diff(ends) <= 0).any() or not np.isfinite(ends).all() for ends in self.boundaries):
            yield "a feature's boundaries do not ascend"


@runtime_checkable
class ShowsForest(Protocol):
    """A fitted model that lays its forest open."""

    def forest_structure(self) -> ForestStructure:
        """Return the forest behind `predict`, which has to answer alike; it is asked for often, so keep it.

        Raises
        ------
        UnavailableError
            If the forest has something that the arrays cannot express; the message names it.
        """
        ...


def forest_of(model: object) -> ForestStructure:
    """Return a fitted model's forest.

    Raises
    ------
    UnavailableError
        If it is no forest, or one that cannot be laid open.
    """
    if not isinstance(model, ShowsForest):
        raise UnavailableError(
            f"the model, a {type(model).__name__}, shows no forest; a model does that by a method "
            "`forest_structure()` that returns a cfbench.forests.ForestStructure"
        )
    return model.forest_structure()
