"""The fitted models that are measured, and two ways to query them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cfbench import Dataset, DataSource
from cfbench.caches import cache_dir
from cfbench.problem import Oracle
from cfbench.registry.registry import Registry, build_registry
from cfbench.running.fitted import FittedModels
from cfbench.space import FloatArray, IntArray
from cfbench.space.dataset import Fold, split
from cfbench.study.variants import build_settings

DATASETS = ("credit", "recidivism", "income")
FOLD = 0


class Plain:
    """The library's own classifier behind our encoding: what every ratio is against."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def predict(self, Z: FloatArray) -> IntArray:
        """Return the classifier's own labels."""
        classes: IntArray = self._model.classifier.predict(self._model.encoding.transform(Z))
        return classes

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        """Return the classifier's own probabilities."""
        probabilities: FloatArray = self._model.predict_proba(Z)
        return probabilities


@dataclass(frozen=True, eq=False)
class FittedFold:
    """A fitted model on fold 0 of a data set.

    Parameters
    ----------
    dataset : Dataset
    fold : Fold
    model : Any
        A model of `cfbench_models`.
    plain, oracle : Oracle
        The library's own classifier, and the model's oracle.
    """

    dataset: Dataset
    fold: Fold
    model: Any
    plain: Oracle
    oracle: Oracle

    def eligible(self) -> FloatArray:
        """Return the eligible points of the test fold, by the oracle, which compiles here if it has not before."""
        X = self.dataset.X[self.fold.test]
        points: FloatArray = X[self.oracle.predict(X) != self.dataset.target]
        return points

    def factual(self, place: int = 0) -> FloatArray:
        """Return an eligible point, by its place in the test fold."""
        point: FloatArray = self.eligible()[place]
        return point

    def rows(self, n: int, *, kept: float = 0.0, seed: int = 0) -> FloatArray:
        """Draw rows uniformly; each feature is that of `factual` with probability `kept`."""
        space, rng = self.dataset.space, np.random.default_rng(seed)
        numbers = rng.uniform(space.lower, space.upper, (n, space.d))
        codes = rng.integers(0, np.maximum(space.n_categories, 1), (n, space.d))
        drawn = np.where(space.is_categorical, codes, numbers)
        rows: FloatArray = np.where(rng.random((n, space.d)) < kept, self.factual(), drawn)
        return rows


def fitted_fold(dataset: str, model: str, **settings: Any) -> FittedFold:
    """Return the fitted model of fold 0; fitted models are kept in the user's cache."""
    data = registry().dataset(dataset).entry.load(data_source())
    entry = registry().model(model).entry
    family = build_settings(entry.family, settings, entry.name)
    fitted: Any = FittedModels(cache_dir()).get(data, FOLD, entry, family)
    return FittedFold(data, split(data, FOLD), fitted, Plain(fitted), fitted.oracle())


def data_source() -> DataSource:
    """Return where data sets are looked for."""
    folders = os.environ.get("CFBENCH_DATA_DIR", "").split(os.pathsep)
    return DataSource(tuple(Path(folder) for folder in folders if folder), cache_dir())


@cache
def registry() -> Registry:
    """Return what is registered."""
    return build_registry()
