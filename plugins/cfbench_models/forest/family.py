"""The random forest of the paper, and its trees laid open for white boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cfbench import FeatureSpace, ModelFamily
from cfbench.errors import UnavailableError
from cfbench.forests import ForestStructure
from cfbench.models import RANDOM_STATE, Encoding, ScikitModel, fit_encoding, n_classes_of
from cfbench.problem import Oracle
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.tables import FlatTrees

_KEPT: WeakKeyDictionary[ForestModel, ForestStructure] = WeakKeyDictionary()
"""Outside the models, so that it is not stored with them."""


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


class RandomForest(ModelFamily):
    """A forest of CART trees; a setting that is left out is chosen from the paper's grid on the training fold.

    Parameters
    ----------
    n_estimators : int, optional
        Trees. Grid: 50, 500.
    min_samples_split : int, optional
        Rows that a node needs to be split. Grid: 2, 8.
    max_features : {"sqrt", "all"}, optional
        Columns that a split chooses from: the square root of their number, or all. Grid: both.

    References
    ----------
    Virgolin and Fracaros, appendix "Hyper-parameter optimization of random forest and neural network". The rest is
    scikit-learn's default. Categorical features with more than two categories are one-hot encoded.
    """

    n_estimators: int | None = Field(default=None, ge=1)
    min_samples_split: int | None = Field(default=None, ge=2)
    max_features: Literal["sqrt", "all"] | None = None

    def grid(self) -> dict[str, list[Any]]:
        """Return the choices in scikit-learn's terms, where ``max_features=None`` stands for all columns."""
        columns: dict[str | None, list[Any]] = {"sqrt": ["sqrt"], "all": [None], None: ["sqrt", None]}
        return {
            "n_estimators": [50, 500] if self.n_estimators is None else [self.n_estimators],
            "min_samples_split": [2, 8] if self.min_samples_split is None else [self.min_samples_split],
            "max_features": columns[self.max_features],
        }

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        """Choose by five-fold cross-validation on accuracy."""
        from cfbench.models import best_of_grid

        return best_of_grid(_forest(), self.grid(), X, y, space)

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> ForestModel:
        """Grow the forest."""
        from cfbench.models import quiet_training

        n_classes = n_classes_of(y)
        encoding = fit_encoding(X, space, standardise=False)
        with quiet_training():
            forest = _forest().set_params(**hyperparameters).fit(encoding.transform(X), y)
        return ForestModel(encoding, forest, n_classes)


class ForestModel(ScikitModel):
    """A fitted forest."""

    def oracle(self) -> Oracle:
        """Return the way to ask the forest that is fastest in this installation.

        Raises
        ------
        UnavailableError
            If the forest has something that it does not know; the message names it.
        """
        from cfbench_models.forest.oracle import forest_oracle

        return forest_oracle(self)

    def forest_structure(self) -> ForestStructure:
        """Return the trees, laid open for white boxes.

        Raises
        ------
        UnavailableError
            If the forest has something that the structure cannot express; the message names it.
        """
        return structure_of(self)

    def learned(self) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
        """Yield each tree's nodes: children, features and thresholds of the splits, class shares."""
        for member in self.classifier.estimators_:
            tree = member.tree_
            yield np.asarray(tree.children_left, dtype=np.int64)
            yield np.asarray(tree.children_right, dtype=np.int64)
            yield np.asarray(tree.feature, dtype=np.int64)
            yield tree.threshold
            yield tree.value


def _forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=RANDOM_STATE)
