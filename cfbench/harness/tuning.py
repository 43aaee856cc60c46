"""Tuning one model on one training fold."""

from __future__ import annotations

import warnings

import numpy as np

from cfbench.contracts import ModelFamily
from cfbench.dataset import Dataset
from cfbench.entries import ModelEntry
from cfbench.errors import ModelError
from cfbench.harness.folds import split
from cfbench.harness.tuned import TunedRow, tuning_key
from cfbench.space import IntArray

N_SPLITS = 5
"""Folds of the cross-validation inside a training fold."""


def tune(dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> TunedRow:
    """Tune, and measure the choice.

    The accuracies are measured here, by fitting the choice anew, and not asked of the family: they then mean the same
    for every model.

    Raises
    ------
    ModelError
        If there are too few rows to cross-validate, or the family chose something that is not in its grid.
    """
    import sklearn
    from sklearn.model_selection import StratifiedKFold

    rows = split(dataset, fold)
    X, y = dataset.X[rows.train], dataset.y[rows.train]
    if np.bincount(y).max() < N_SPLITS:
        raise ModelError(
            f"data set {dataset.name!r}: no class has {N_SPLITS} training rows, too few to tune model {entry.name!r} "
            f"by cross-validation; add rows, or give every setting that is tuned ({', '.join(family.grid())}) a value"
        )
    chosen = family.tune(X, y, dataset.space)
    grid = family.grid()
    if chosen.keys() != grid.keys() or any(value not in grid[name] for name, value in chosen.items()):
        raise ModelError(f"model {entry.name!r} tuned to {chosen}, which is not in its grid {grid}")

    def accuracy(train: IntArray, test: IntArray) -> float:
        model = family.fit(dataset.X[train], dataset.y[train], dataset.space, chosen)
        return float(np.mean(model.predict(dataset.X[test]) == dataset.y[test]))

    with warnings.catch_warnings():
        # A class with five rows has four in a training fold; the accuracy of the splits that lack it still counts.
        warnings.filterwarnings("ignore", message="The least populated class in y", category=UserWarning)
        splits = [(rows.train[train], rows.train[test]) for train, test in StratifiedKFold(N_SPLITS).split(X, y)]
    return TunedRow(
        key=tuning_key(dataset, fold, entry, family),
        model=entry.name,
        dataset=dataset.name,
        fold=fold,
        hyperparameters=dict(chosen),
        cv_accuracy=float(np.mean([accuracy(train, test) for train, test in splits])),
        test_accuracy=accuracy(rows.train, rows.test),
        sklearn=sklearn.__version__,
    )
