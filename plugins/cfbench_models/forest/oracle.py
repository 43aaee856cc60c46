"""The forest's oracle: exactly scikit-learn's answers, by compiled code where numba is installed, tree by tree else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfbench.problem import Oracle
from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.tables import ForestTables, additive_tables, forest_tables, require_plain, trees_of
from cfbench_models.shared.compilation import CompiledQueries, NeighbourReach, compiled_queries, plain

if TYPE_CHECKING:
    from cfbench_models.forest.family import ForestModel
    from cfbench_models.forest.laid_open import TreeModel

MEMO_ROWS = 2**16
MEMO_BYTES = 2**23
"""Limits of the memo, which is to stay in the processor's cache; a search of 101,000 rows meets 30,000 to 45,000
different cells."""

FEW_NEIGHBOURS = 16
"""Up to so many, neighbours of all candidates are asked together as rows: a set of one candidate's would be small."""

_ROWS_AT_ONCE = 65_536


def forest_oracle(model: ForestModel) -> Oracle:
    """Return the fastest exact way to ask a forest in this installation.

    Raises
    ------
    UnavailableError
        If the forest has something that neither way knows; the message names it.
    """
    queries = compiled_queries()
    if queries is None:
        require_plain(model.classifier)
        return TreeByTree(model)
    if model.encoding.mean is not None:
        return additive_oracle(model)
    tables = forest_tables(model.classifier, model.encoding)
    return CompiledForest(model, model.class_codes(), tables, queries)


def additive_oracle(model: TreeModel) -> Oracle:
    """Return the fastest exact way to query an ensemble whose shares are scores: compiled code, or the model itself.

    Raises
    ------
    UnavailableError
        If the ensemble has something that its structure cannot express; the message names it.
    """
    structure, queries = model.forest_structure(), compiled_queries()
    if queries is None:
        return model
    return CompiledForest(model, structure.classes, additive_tables(structure), queries)


class TreeByTree:
    """A forest asked without scikit-learn's checks and jobs around each question and each tree.

    Parameters
    ----------
    model : ForestModel
    """

    def __init__(self, model: ForestModel) -> None:
        self._model = model
        self._classes = model.class_codes()
        self._trees = trees_of(model.classifier)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d)."""
        shares = self._mean_shares(Z)
        if shares is None:
            return self._model.predict(Z)
        codes: IntArray = self._classes[shares.argmax(axis=1)]
        return codes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`, shape (n, n_classes)."""
        shares = self._mean_shares(Z)
        if shares is None:
            return self._model.predict_proba(Z)
        return _by_code(shares, self._classes, self._model.n_classes)

    def _mean_shares(self, Z: FloatArray) -> FloatArray | None:
        """Take the trees' mean as scikit-learn does, in its order; None where a value is beyond float32."""
        with np.errstate(over="ignore"):
            columns = self._model.encoding.transform(Z).astype(np.float32)
        if not np.isfinite(columns).all():
            return None
        total = np.zeros((len(Z), len(self._classes)))
        for tree in self._trees:
            total += tree.predict(columns)
        total /= len(self._trees)
        return total


class CompiledForest:
    """A forest or a boosted ensemble queried by compiled code.

    A row is turned into cells (see :mod:`cfbench_models.forest.tables`). Rows whose cells were answered before are
    looked up in a memo; the others are put into an order in which neighbours are alike and walk the trees 64 at a time.
    What is beyond float32 is left to the model itself.

    Parameters
    ----------
    model : TreeModel
    classes : ndarray of int64, shape (K,)
        Class codes, in the order of the tables.
    tables : ForestTables
    queries : CompiledQueries
    """

    def __init__(self, model: TreeModel, classes: IntArray, tables: ForestTables, queries: CompiledQueries) -> None:
        self._model = model
        self._ask = queries
        self._classes = classes
        self._add_up = tables.add_up
        self._forest = tables.packed()
        self._levels = tables.levels()
        used = len(tables.features)
        small = int(np.diff(tables.first_slot).max(initial=0)) < 2**16
        cell = np.dtype(np.uint16 if small else np.uint32)
        size = min(MEMO_ROWS, 2 ** int(np.log2(MEMO_BYTES / (cell.itemsize * used + 8))))
        self._kept_cells = np.full((size, used), 0, dtype=cell)  # written to, so that no query waits for memory
        self._kept_answers = np.full(size, -1, dtype=np.int64)

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d)."""
        Z = plain(Z)
        answers = self._ask.classes_of_rows(self._forest, self._levels, Z, self._kept_cells, self._kept_answers)
        return self._model.predict(Z) if answers is None else self._classes[answers]

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the class probabilities of the rows of `Z`, shape (n, n_classes); those of scores by the library."""
        if not self._add_up:
            return self._model.predict_proba(Z)
        Z = plain(Z)
        shares = self._ask.shares_of_rows(self._forest, Z, self._kept_cells)
        if shares is None:
            return self._model.predict_proba(Z)
        return _by_code(shares, self._classes, self._model.n_classes)

    def predict_neighbours(self, Z: FloatArray, neighbours: KNeighbours) -> IntArray:
        """Return the class codes of the K-neighbours of the rows of `Z`, shape (n, m).

        Uniform ones are drawn by the compiled code, where a threshold lies within their reach.
        """
        Z = plain(Z)
        uniform = type(neighbours) is KNeighbours and neighbours.distribution is Distribution.UNIFORM
        if uniform and neighbours.m > FEW_NEIGHBOURS:
            x, keys, reach = plain(neighbours.x), neighbours.keys(len(Z)), NeighbourReach.of(neighbours)
            answers = self._ask.classes_of_neighbours(self._forest, reach, Z, x, keys, neighbours.m)
            if answers is not None:
                codes: IntArray = self._classes[answers]
                return codes
        classes = np.empty((len(Z), neighbours.m), dtype=np.int64)
        at_once = max(1, _ROWS_AT_ONCE // max(1, neighbours.m))
        for first in range(0, len(Z), at_once):
            drawn = neighbours.draw(Z[first : first + at_once], first)
            answered = self.predict(drawn.reshape(-1, Z.shape[1]))
            classes[first : first + at_once] = answered.reshape(drawn.shape[:2])
        return classes


def _by_code(shares: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    """Put the shares of the forest's classes into columns by class code; a class that training lacked has 0."""
    probabilities = np.zeros((len(shares), n_classes))
    probabilities[:, classes] = shares
    return probabilities
