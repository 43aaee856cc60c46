"""A data set: a table, its annotation, the class that users want, and the folds of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cfbench.digests import digest_of, digest_of_arrays
from cfbench.errors import DataError, StudyError
from cfbench.space.feature import Kind
from cfbench.space.relations import ForbiddenTransition, Relation
from cfbench.space.space import FeatureSpace, FloatArray, IntArray


@dataclass(frozen=True)
class Spelling:
    """How the cells of a data set's table are written, for models that were fitted on the table itself.

    Parameters
    ----------
    categories : tuple of tuple of str
        The cell of each category code, by feature; empty for numerical features.
    classes : tuple of str
        The cell of each class code.
    label : str
        The column that holds the classes.
    """

    categories: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...]
    label: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of factual cases with their classes.

    Parameters
    ----------
    name : str
    X : ndarray of float64, shape (n, d)
        Numerical values in raw units, categories as codes; becomes read-only. Other numbers and data frames are
        converted; a frame's columns are matched with the features by name.
    y : ndarray of int64, shape (n,)
        Class codes ``0 .. n_classes-1``; becomes read-only. Booleans are taken for codes if there are two classes.
    space : FeatureSpace
    target : int
        The class that users want (the paper's t).
    class_labels : tuple of str
        What the class codes mean.
    user : str
        The kind of user that seeks recourse (the paper's table of data sets).
    spelling : Spelling or None
        How the table writes categories and classes; None: by their labels. It changes no result and no digest.
    held_out : int
        How many rows at the end are points to explain, and never training rows; 0: the rows have folds.

    Raises
    ------
    DataError
        If a value of the table is not allowed, with its column and row; if the table, the classes or the target do not
        fit the annotation.

    Examples
    --------
    >>> import numpy as np
    >>> from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind
    >>> space = FeatureSpace((FeatureSpec("income", Kind.NUMERICAL, 0, 100),))
    >>> X, y = np.array([[20.0], [60.0], [90.0]]), np.array([0, 1, 1])
    >>> loans = Dataset("loans", X, y, space, target=1, class_labels=("refused", "granted"))
    >>> loans.n, loans.class_counts
    (3, (1, 2))
    """

    name: str
    X: FloatArray
    y: IntArray
    space: FeatureSpace
    target: int
    class_labels: tuple[str, ...]
    user: str = "Individual"
    spelling: Spelling | None = None
    held_out: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.space, FeatureSpace):
            raise self._error(f"its space is a {type(self.space).__name__}, not a cfbench.FeatureSpace")
        object.__setattr__(self, "class_labels", self._labels())
        if not isinstance(self.target, (int, np.integer)) or not 0 <= self.target < self.n_classes:
            raise self._error(
                f"target class {self.target!r} is not among the classes 0 to {self.n_classes - 1}; give the code of "
                "the class that users want"
            )
        object.__setattr__(self, "X", self._table())
        object.__setattr__(self, "y", self._classes())
        object.__setattr__(self, "target", int(self.target))
        for array in (self.X, self.y):
            array.setflags(write=False)

    def _error(self, problem: str) -> DataError:
        return DataError(f"data set {self.name!r}: {problem}")

    def _labels(self) -> tuple[str, ...]:
        labels: object = self.class_labels
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise self._error(f"class_labels is {labels!r}; it must be a tuple of names, one per class")
        names = tuple(labels)
        for name in names:
            if not isinstance(name, str) or not name.strip():
                raise self._error(f"the class label {name!r} is no name; give every class a string that is not empty")
            if names.count(name) > 1:
                raise self._error(f"the class label {name!r} occurs more than once; every class needs its own")
        return names

    def _table(self) -> FloatArray:
        """Return X as contiguous float64; raise DataError if a value is not allowed."""
        given: Any = self.X
        columns = getattr(given, "columns", None)
        if columns is not None:  # a data frame
            names = [str(column) for column in columns]
            if sorted(names) != sorted(self.space.names):
                raise self._error(
                    f"the table's columns are {', '.join(names)}; they must be the features: "
                    f"{', '.join(self.space.names)}"
                )
            given = given[[columns[names.index(name)] for name in self.space.names]]
        try:
            table = np.asarray(given)
        except ValueError:  # rows of different lengths
            raise self._error(f"X is a {type(given).__name__} whose rows have different lengths") from None
        wanted = (np.size(self.y, 0) if np.ndim(self.y) else 0, self.space.d)
        if table.ndim != 2 or table.shape != wanted:
            raise self._error(
                f"the table has shape {table.shape}; its {wanted[0]} labels and {wanted[1]} annotated features ask for "
                f"{wanted}"
            )
        if len(table) == 0:
            raise self._error("the table has no rows; add a row for every case")
        if table.dtype.kind not in "fiub":
            self._require_numbers(table)
        X = np.ascontiguousarray(table, dtype=np.float64)
        self._require_allowed(X)
        return X

    def _require_numbers(self, table: np.ndarray[Any, Any]) -> None:
        for (row, column), given in np.ndenumerate(table):
            value = given.item() if isinstance(given, np.generic) else given
            if not isinstance(value, (float, int)):
                feature = self.space.features[column]
                hint = "the code of its category" if feature.kind is Kind.CATEGORICAL else "a number"
                raise self._error(
                    f"column {feature.name!r}, row {row + 1}: {value!r} is a {type(value).__name__}; give {hint}"
                )

    def _require_allowed(self, X: FloatArray) -> None:
        problems = []
        for feature, values in zip(self.space.features, X.T, strict=True):
            allowed = (values >= feature.lower) & (values <= feature.upper)  # False for NaN
            if feature.kind is Kind.CATEGORICAL:
                allowed &= values == np.floor(values)
            bad = np.flatnonzero(~allowed)
            if len(bad):
                more = f" [{len(bad)} such values]" if len(bad) > 1 else ""
                value = float(values[bad[0]])
                what = "is missing" if np.isnan(value) else "is not allowed"
                kind = "a code from" if feature.kind is Kind.CATEGORICAL else "a number from"
                problems.append(
                    f"column {feature.name!r}, row {bad[0] + 1}: {value!r} {what}; allowed: {kind} "
                    f"{feature.lower!r} to {feature.upper!r}{more}"
                )
        if len(problems) == 1:
            raise self._error(f"{problems[0]}. Correct the table, or the feature's annotation")
        if problems:
            listing = "".join(f"\n- {problem}" for problem in problems)
            raise self._error(f"{len(problems)} columns have values that are not allowed:{listing}")

    def _classes(self) -> IntArray:
        """Return y as int64; raise DataError if a value is no class code."""
        codes = np.asarray(self.y)
        if codes.shape != (len(self.X),):
            raise self._error(f"y has shape {codes.shape}; it must be ({len(self.X)},): one class code per row")
        allowed = f"allowed: the class codes 0 to {self.n_classes - 1} of {', '.join(self.class_labels)}"
        if codes.dtype.kind == "b" and self.n_classes != 2:
            raise self._error(f"y holds booleans, and there are {self.n_classes} classes; {allowed}")
        if codes.dtype.kind not in "fiub":
            first = codes.tolist()[0]
            raise self._error(f"y, row 1: {first!r} is a {type(first).__name__}; {allowed}")
        with np.errstate(invalid="ignore"):  # a NaN becomes any integer, and differs from it
            y = codes.astype(np.int64)
        bad = np.flatnonzero((y != codes) | (y < 0) | (y >= self.n_classes))
        if len(bad):
            more = f" [{len(bad)} such values]" if len(bad) > 1 else ""
            raise self._error(f"y, row {bad[0] + 1}: {codes[bad[0]].item()!r} is no class code; {allowed}{more}")
        return y

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.y)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_labels)

    @cached_property
    def class_counts(self) -> tuple[int, ...]:
        """Number of rows per class, in the order of the class codes."""
        return tuple(int(count) for count in np.bincount(self.y, minlength=self.n_classes))

    @cached_property
    def digest(self) -> str:
        """Digest of all content that can change a result: values, labels, annotation, target."""
        content = [digest_of_arrays(self.X, self.y), self.space.digest, self.target, self.n_classes]
        return digest_of([*content, self.held_out] if self.held_out else content)


def broken_relations(space: FeatureSpace, X: FloatArray) -> dict[Relation, IntArray]:
    """Return the relations that rows of a table break, with the rows; forbidden transitions are not about rows."""
    broken = {relation: np.flatnonzero(~relation.holds(X, X[0])) for relation in space.relations}
    return {
        relation: rows
        for relation, rows in broken.items()
        if len(rows) and not isinstance(relation, ForbiddenTransition)
    }


def require_kept_relations(dataset: Dataset) -> None:
    """Raise DataError if no row keeps the relations. Some rows of real tables may break them."""
    broken = broken_relations(dataset.space, dataset.X)
    kept = np.ones(dataset.n, dtype=bool)
    for rows in broken.values():
        kept[rows] = False
    if not kept.any():
        listing = "; ".join(
            f"{len(rows)} of {dataset.n} rows break the {relation.name}, the first is row {rows[0] + 1}"
            for relation, rows in broken.items()
        )
        raise DataError(
            f"data set {dataset.name!r}: no row keeps the relations: {listing}. Correct the relations, or the table"
        )


N_FOLDS = 5
"""Folds of every data set."""

FOLD_SEED = 42
"""Seed of the shuffle; part of the protocol, never of a study."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold's rows, by their numbers, ascending."""

    train: IntArray
    test: IntArray


def split(dataset: Dataset, fold: int) -> Fold:
    """Return fold number `fold` of five stratified, shuffled folds; DataError if a class has fewer than five rows.

    If rows are held out, they are the test rows of fold 0, and there is no other.

    Decision: ``StratifiedKFold(5, shuffle=True, random_state=42)``; every class is in every fold's training and test
    rows.
    """
    from sklearn.model_selection import StratifiedKFold

    if not 0 <= fold < N_FOLDS:
        raise StudyError(f"there is no fold {fold}; folds are numbered from 0 to {N_FOLDS - 1}")
    if dataset.held_out:
        if fold != 0:
            raise StudyError(f"the points of {dataset.name!r} are held out, so there are no folds; leave --fold out")
        rows = np.arange(dataset.n)
        return Fold(rows[: -dataset.held_out], rows[-dataset.held_out :])
    for label, count in zip(dataset.class_labels, dataset.class_counts, strict=True):
        if count < N_FOLDS:
            raise DataError(
                f"data set {dataset.name!r}: class {label!r} has {count} rows; each class needs at least {N_FOLDS}, "
                "one for every fold: add rows, or merge the class with another"
            )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=FOLD_SEED).split(dataset.X, dataset.y)
    train, test = list(folds)[fold]
    return Fold(train.astype(np.int64), test.astype(np.int64))
