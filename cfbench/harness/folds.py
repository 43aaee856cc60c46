"""The folds: which rows train the model and which are explained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfbench.dataset import Dataset
from cfbench.errors import DataError, StudyError
from cfbench.space import IntArray

N_FOLDS = 5
"""Folds of every data set."""

FOLD_SEED = 42
"""Seed of the shuffle; part of the protocol, never of a study."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold's rows.

    Parameters
    ----------
    train, test : ndarray of int64
        Row numbers, ascending.
    """

    train: IntArray
    test: IntArray


def split(dataset: Dataset, fold: int) -> Fold:
    """Return fold number `fold` of five stratified, shuffled folds.

    Decision: ``StratifiedKFold(5, shuffle=True, random_state=42)``; every class is in every fold's training and test
    rows.

    Raises
    ------
    DataError
        If a class has fewer rows than there are folds.
    StudyError
        If there is no such fold.
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
