"""A data set: a table, its annotation, the class that users want, and the folds of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfbench.digests import digest_of, digest_of_arrays
from cfbench.errors import DataError, StudyError
from cfbench.space.space import FeatureSpace, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of factual cases with their classes.

    Parameters
    ----------
    name : str
    X : ndarray of float64, shape (n, d)
        Numerical values in raw units, categories as codes; becomes read-only.
    y : ndarray of int64, shape (n,)
        Class codes ``0 .. n_classes-1``; becomes read-only.
    space : FeatureSpace
    target : int
        The class that users want (the paper's t).
    class_labels : tuple of str
        What the class codes mean.
    user : str
        The kind of user that seeks recourse (the paper's table of data sets).

    Raises
    ------
    DataError
        If the table does not fit the annotation.

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

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape != (len(self.y), self.space.d):
            raise DataError(
                f"data set {self.name!r}: the table has shape {self.X.shape}; its {len(self.y)} labels and "
                f"{self.space.d} annotated features ask for {(len(self.y), self.space.d)}"
            )
        if not 0 <= self.target < self.n_classes:
            raise DataError(
                f"data set {self.name!r}: target class {self.target} is not among the classes 0 to {self.n_classes - 1}"
            )
        for array in (self.X, self.y):
            array.setflags(write=False)

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
        return digest_of([digest_of_arrays(self.X, self.y), self.space.digest, self.target, self.n_classes])


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

    Decision: ``StratifiedKFold(5, shuffle=True, random_state=42)``; every class is in every fold's training and test
    rows.
    """
    from sklearn.model_selection import StratifiedKFold

    if not 0 <= fold < N_FOLDS:
        raise StudyError(f"there is no fold {fold}; folds are numbered from 0 to {N_FOLDS - 1}")
    for label, count in zip(dataset.class_labels, dataset.class_counts, strict=True):
        if count < N_FOLDS:
            raise DataError(
                f"data set {dataset.name!r}: class {label!r} has {count} rows; each class needs at least {N_FOLDS}, "
                "one for every fold: add rows, or merge the class with another"
            )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=FOLD_SEED).split(dataset.X, dataset.y)
    train, test = list(folds)[fold]
    return Fold(train.astype(np.int64), test.astype(np.int64))
