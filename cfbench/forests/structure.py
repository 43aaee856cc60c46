"""An additive ensemble of trees as arrays over the cells that its splits cut each feature into.

Random forests, single trees and boosted ensembles have one structure: each tree adds a number to the score of each
class. Only comparisons matter to a tree. So a feature's values fall into *cells*, within which no split separates them.
A point is one cell per feature, and the ensemble is a function of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
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

_SINGLE_UNIT = 2.0**-24
"""The largest relative error of an addition in float32."""


class Decision(StrEnum):
    """What the library compares in order to find the largest score; of equal ones, the first class wins."""

    MEAN = "mean"
    """The sums divided by the number of trees, as in forests."""
    SUM = "sum"
    """The sums themselves, as in boosted ensembles that compare raw scores."""
    SOFTMAX = "softmax"
    """The softmax of the sums, in the number type of the sums. Its rounding makes ties of scores that differ."""


class DecisionRule(NamedTuple):
    """How a class follows from the shares, as compiled walks read it; see :class:`ForestStructure`."""

    single: bool
    softmax: bool
    divisor: float
    bar: float


class ForestNodes(NamedTuple):
    """The arrays that compiled walks read, as :class:`ForestStructure` describes them."""

    nodes: Int32Array
    roots: Int32Array
    shares: FloatArray
    rule: DecisionRule


@dataclass(frozen=True, eq=False)
class ForestStructure:
    """An additive ensemble of T trees with N nodes and L leaves over d features, K classes.

    Each tree has a leaf for a point, and the leaf adds its shares to the scores of the classes. The shares are added
    in the order of the trees, in the number type of the library. The class with the largest score wins; of classes
    with equal scores, the one that comes first. So the structure gives the library's classes, ties and rounding
    included.

    - A random forest: shares are votes that add up to 1, the decision is `MEAN`.
    - A boosted ensemble of two classes: shares are ``(0, margin)``. With more classes, each tree adds to one class.
    - A baseline is a tree that is a single leaf, the first one if the library starts with it.
    - The side of a threshold and the number type of comparisons are in `boundaries`.
    - There are no missing values in cfbench; where a split would send them is not kept.
    - Splits on sets of categories are not expressed, except those that single out one category.

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
        A feature each, ascending: the last value of every cell but the highest one. It is the largest float64 number
        that goes left, whether the library compares by ``<=`` or by ``<``, in float64 or after rounding to float32.
        Empty for coded features and for those never looked at.
    cell_of_code : tuple of ndarray of int64
        For a *coded* feature, one whose cells have no order: the cell of each category code. Several codes may share
        one, as categories that training lacked do. Empty for all others.
    decision : Decision
        What is compared to find the class.
    single : bool
        Whether the library adds in float32; otherwise it adds in float64.
    bar : float
        Two classes alone: the second one wins only where its lead is above this. A library that compares a sigmoid with
        1/2 has a bar a little above 0, because the sigmoid rounds.

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
    decision: Decision = Decision.MEAN
    single: bool = False
    bar: float = 0.0

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
        """Whether votes add up without rounding, in any order, as those of pure leaves do."""
        if self.decision is not Decision.MEAN:
            return False
        few_digits = self.shares * _FINEST % 1 == 0
        return bool(few_digits.all() and np.abs(self.shares).max(initial=0.0) * len(self.roots) < _FINEST)

    @cached_property
    def rounding(self) -> float:
        """How near to 0 a lead may be, added up in float64 in any order, and the library decide otherwise."""
        largest = float(np.abs(self.shares).max(initial=0.0))
        rounding = _CLEAR * len(self.roots) * max(1.0, largest) + self.bar
        if self.single:
            # Each of the library's additions errs by a share of the sum so far, and the softmax by a share of 1.
            rounding += 4 * _SINGLE_UNIT * (1.0 + float(self._largest_sums.sum()))
        return rounding

    @cached_property
    def walked(self) -> ForestNodes:
        """The arrays that compiled walks read."""
        divisor = float(len(self.roots)) if self.decision is Decision.MEAN else 1.0
        rule = DecisionRule(self.single, self.decision is Decision.SOFTMAX, divisor, float(self.bar))
        return ForestNodes(self.nodes, self.roots, self.shares, rule)

    def cells(self, Z: FloatArray) -> IntArray:
        """Return the cells of the rows of `Z`, shape (n, d); categories are codes."""
        found = np.empty(Z.shape, dtype=np.int64)
        for i in range(self.d):
            found[:, i] = self.cells_of(i, Z[:, i])
        return found

    def cells_of(self, feature: int, values: FloatArray) -> IntArray:
        """Return the cells of some values of one feature, shape (n,)."""
        cells = self.cell_of_code[feature]
        if len(cells):
            return cells[values.astype(np.intp)]
        return np.searchsorted(self.boundaries[feature], values, side="left").astype(np.int64)

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
    def _largest_sums(self) -> FloatArray:
        """What no sum of the first trees' shares is above in size, shape (T,)."""
        from cfbench.forests.walks import largest_shares  # it loads the compiler

        largest: FloatArray = largest_shares(self.walked, self.depth)
        return np.cumsum(largest)

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
        if not (0 <= self.bar < np.inf) or (self.bar > 0 and len(self.classes) != 2):
            yield f"a bar of {self.bar} for {len(self.classes)} classes; it is 0 unless there are two classes"
        if self.single and (shares.astype(np.float32) != shares).any():
            yield "shares that are added in float32 are not float32 numbers"


@runtime_checkable
class ShowsForest(Protocol):
    """A fitted model that shows its trees."""

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
