"""Fitted models: tuned, fitted or loaded, and looked at before anything is searched."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import cfbench
from cfbench.contracts import FittedModel, ModelFamily
from cfbench.dataset import Dataset
from cfbench.digests import digest_of
from cfbench.entries import ModelEntry
from cfbench.errors import ModelError
from cfbench.harness.caches import load_object, private_folder, store_object
from cfbench.harness.folds import Fold, split
from cfbench.harness.tuned import TunedCache, TunedRow, only_choice, read_table, tuning_key
from cfbench.harness.tuning import tune
from cfbench.oracle import Oracle
from cfbench.oracle_check import checked_oracle
from cfbench.space import IntArray

T = TypeVar("T")

MODELS_KEPT = 4
"""Models that are kept in memory; a study goes through them one after the other."""


class FittedModels:
    """The way from a data set's fold and a model family to a fitted model; one a process.

    Parameters
    ----------
    cache_dir : Path
        The user's cache, where tuned hyper-parameters and fitted models are kept between runs.
    told : callable
        Told, in a sentence, what will take its time before it is begun.
    """

    def __init__(self, cache_dir: Path, told: Callable[[str], None] = lambda _: None) -> None:
        self._cache_dir = cache_dir
        self._told = told
        self._tuned = TunedCache(cache_dir)
        self._kept: OrderedDict[str, FittedModel] = OrderedDict()
        self._oracles: OrderedDict[str, Oracle] = OrderedDict()

    def hyperparameters(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> dict[str, Any]:
        """Return a fold's hyper-parameters: the settings, the entry's table, the cache, or tuning, in this order."""
        settled = only_choice(family.grid())
        if settled is not None:
            return settled
        row = self.known(dataset, fold, entry, family)
        if row is None:
            self._told(f"tuning {entry.name} on {dataset.name}, fold {fold}; this is done once")
            row = tune(dataset, fold, entry, family)
            self._tuned.add(row)
        return dict(row.hyperparameters)

    def known(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> TunedRow | None:
        """Return the row of the entry's table or of the cache; None where the fold was not tuned yet."""
        key = tuning_key(dataset, fold, entry, family)
        table = read_table(entry.tuned) if entry.tuned is not None else {}
        return table.get(key) or self._tuned.get(key)

    def get(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> FittedModel:
        """Return a fold's fitted model: from memory, from the cache, or fitted now and cached."""
        hyperparameters = self.hyperparameters(dataset, fold, entry, family)
        key = _fitted_key(dataset, fold, entry, family, hyperparameters)
        return _kept(self._kept, key, lambda: self._made(key, dataset, fold, entry, family, hyperparameters))

    def oracle(self, dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily) -> Oracle:
        """Return the way to ask a fold's fitted model: its oracle if that keeps its promise, else the model itself."""
        model = self.get(dataset, fold, entry, family)
        key = _fitted_key(dataset, fold, entry, family, self.hyperparameters(dataset, fold, entry, family))
        X = dataset.X[split(dataset, fold).train]
        return _kept(self._oracles, key, lambda: checked_oracle(model, dataset.space, X))

    def _made(
        self,
        key: str,
        dataset: Dataset,
        fold: int,
        entry: ModelEntry,
        family: ModelFamily,
        hyperparameters: dict[str, Any],
    ) -> FittedModel:
        """Load a fitted model from the cache, or fit and cache it."""
        path = private_folder(self._cache_dir / "models") / f"{key}.pickle"
        model = load_object(path)
        if not isinstance(model, FittedModel):
            rows = split(dataset, fold)
            self._told(f"fitting {entry.name} on {dataset.name}, fold {fold}; this is done once")
            model = family.fit(dataset.X[rows.train], dataset.y[rows.train], dataset.space, hyperparameters)
            store_object(path, model)
        return model


def eligible_points(model: FittedModel, dataset: Dataset, rows: IntArray) -> IntArray:
    """Return those of the `rows` that the model does not put into the target class, in the order given.

    Parameters
    ----------
    model : FittedModel
    dataset : Dataset
    rows : ndarray of int64, shape (n,)
        Rows of a test fold: as the fold lists them, or as `point_order` draws them.
    """
    eligible: IntArray = rows[model.predict(dataset.X[rows]) != dataset.target]
    return eligible


def reject_pointless(model: FittedModel, dataset: Dataset, fold: Fold) -> None:
    """Stop before any search where the model leaves nothing to find or nothing to explain.

    Raises
    ------
    ModelError
        If it predicts one class only, or never or always the target, on the data set's rows; or always the target on
        the test fold.
    """
    classes = model.predict(dataset.X)
    label = dataset.class_labels
    target = f"the target class {label[dataset.target]!r}"
    mend = "use other settings of the model, another fold, or another target"
    predicted = np.unique(classes)
    if len(predicted) == 1:
        raise ModelError(
            f"the model predicts class {label[predicted[0]]!r} for all {dataset.n} rows of {dataset.name!r}: "
            f"there is no other class to search for; {mend}"
        )
    if dataset.target not in predicted:
        raise ModelError(
            f"the model never predicts {target} on the {dataset.n} rows of {dataset.name!r}: no search could be "
            f"expected to find it; {mend}"
        )
    if np.all(classes[fold.test] == dataset.target):
        raise ModelError(
            f"the model predicts {target} for all {len(fold.test)} test rows of {dataset.name!r}: "
            f"nobody is left to explain; {mend}"
        )


def _kept(memory: OrderedDict[str, T], key: str, make: Callable[[], T]) -> T:
    """Return what is kept under a key, made where it is not there; the least recently used is forgotten."""
    if key not in memory:
        memory[key] = make()
        if len(memory) > MODELS_KEPT:
            memory.popitem(last=False)
    memory.move_to_end(key)
    return memory[key]


def _fitted_key(
    dataset: Dataset, fold: int, entry: ModelEntry, family: ModelFamily, hyperparameters: dict[str, Any]
) -> str:
    """Return the digest of all that the fitted model, and the way that it is stored, depends on."""
    import sklearn

    return digest_of(
        {
            "tuning": tuning_key(dataset, fold, entry, family),
            "hyperparameters": hyperparameters,
            "sklearn": sklearn.__version__,
            "cfbench": cfbench.__version__,
        }
    )
