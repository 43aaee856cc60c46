"""The exact oracle of linear models: scores from raw features, and scikit-learn itself next to a tie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfbench.linear import LinearStructure
from cfbench.space import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from cfbench_models.linear.family import LinearModel


class LinearScores:
    """The classes of rows by a linear structure, and which of them do not depend on rounding.

    Two classes need one score, their difference. Categories are looked up in one table for all features, so that
    no indicator columns are made.
    """

    def __init__(self, structure: LinearStructure) -> None:
        self._structure = structure
        two = len(structure.classes) == 2

        def difference(rows: FloatArray) -> FloatArray:
            return rows[1:] - rows[:1] if two else rows

        numbers = ~structure.is_coded
        self._numbers = np.flatnonzero(numbers)
        self._slopes = np.ascontiguousarray(difference(structure.slopes[:, numbers]).T)
        self._constants = difference(structure.constants)
        self._coded = np.flatnonzero(structure.is_coded)
        tables = [structure.tables[f] for f in self._coded]
        self._unknown = np.array([len(table) - 1 for table in tables], dtype=np.int64)
        self._first = np.cumsum([0, *map(len, tables)], dtype=np.int64)[:-1]
        self._table = np.vstack([np.zeros((0, len(structure.classes))), *tables])
        self._table = np.ascontiguousarray(difference(self._table.T).T)

    def answer(self, Z: FloatArray) -> tuple[IntArray, BoolArray]:
        """Return the places of the classes of rows, shape (n,), and which are certain, shape (n,)."""
        scores = Z[:, self._numbers] @ self._slopes + self._constants
        if len(self._coded):
            scores += self._looked_up(Z[:, self._coded])
        rounding = self._structure.rounding(np.abs(Z).max(axis=0, initial=0.0))
        if scores.shape[1] == 1:
            lead = scores[:, 0]
            return (lead > 0).astype(np.int64), np.abs(lead) > rounding
        places = np.argmax(scores, axis=1)
        best, second = np.partition(scores, -2, axis=1)[:, [-1, -2]].T
        return places, best - second > rounding

    def _looked_up(self, codes: FloatArray) -> FloatArray:
        """Return what the one-hot features add to the scores."""
        is_code = (codes >= 0) & (codes < self._unknown) & (codes == np.floor(codes))
        rows = self._first + np.where(is_code, codes, self._unknown).astype(np.int64)
        added: FloatArray = self._table[rows].sum(axis=1)
        return added


class LinearOracle:
    """Queries a linear model by its scores, and scikit-learn row by row where rounding could change the class.

    A class depends on its row alone, whatever the other rows are.
    """

    def __init__(self, model: LinearModel) -> None:
        self._model = model
        structure = model.linear_structure()
        self._scores, self._classes = LinearScores(structure), structure.classes

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the class codes of the rows of `Z`, shape (n, d), int64, shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is in doubt, and goes on to scikit-learn
            places, certain = self._scores.answer(Z)
        classes: IntArray = self._classes[places]
        if not certain.all():
            classes[~certain] = self._model.predict_alone(Z[~certain])
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return scikit-learn's own probabilities, shape (n, n_classes)."""
        return self._model.predict_proba(Z)
