"""Entries of every kind made for plans, and plans of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from cfbench.errors import UnavailableError
from cfbench.problem.access import Need
from cfbench.problem.problem import Problem, Term
from cfbench.registry.contracts import (
    DataSource,
    FittedModel,
    ModelFamily,
    Objective,
    ObjectiveContext,
    Searcher,
)
from cfbench.registry.entries import (
    DatasetEntry,
    Entry,
    Handles,
    MetricEntry,
    ModelEntry,
    ObjectiveEntry,
    SearcherEntry,
)
from cfbench.registry.metrics import Found, Metric
from cfbench.registry.registry import Registered, Registry, RegistryOptions
from cfbench.space.dataset import Dataset
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, IntArray, Kind
from cfbench.study.plan import Plan, make_plan
from cfbench.study.study import make_study

SOURCE = DataSource(data_dirs=(), cache_dir=Path("nowhere"), download=False)


NUMBERS = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1), FeatureSpec("b", Kind.NUMERICAL, 0, 1)))


MIXED = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0, 1), FeatureSpec("b", Kind.CATEGORICAL, 0, 1, ("x", "y"))))


def loader(name: str, space: FeatureSpace, n: int) -> Callable[[DataSource], Dataset]:
    def load(source: DataSource) -> Dataset:
        rows = np.arange(n)
        X = np.column_stack([rows / n, rows % 2]).astype(np.float64)
        return Dataset(name=name, X=X, y=(rows % 2).astype(np.int64), space=space, target=1, class_labels=("n", "y"))

    return load


def unavailable(source: DataSource) -> Dataset:
    raise UnavailableError("download it, or name its folder")


class Stump(ModelFamily):
    depth: int = 1

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> FittedModel:
        raise AssertionError("a plan fits nothing")


class Walker(Searcher):
    steps: int = Field(100, ge=1)
    size: float = 0.5

    def search(self, problem: Problem, rng: np.random.Generator) -> None:
        return None


def plain(problem: Problem, rng: np.random.Generator) -> None:
    return None


class LossAlone(Objective):
    def bind(self, context: ObjectiveContext) -> None:
        return None


class Neighbours(Objective):
    m: int = Field(64, ge=0)

    def bind(self, context: ObjectiveContext) -> Term | None:
        def term(Z: FloatArray, classes: IntArray) -> FloatArray:
            return np.zeros(len(Z))

        return term if self.m else None

    def amounts_to(self) -> str:
        return "" if self.m else "none"


class Wary(Objective):
    def bind(self, context: ObjectiveContext) -> None:
        return None

    def remark(self, space: FeatureSpace) -> str:
        return "" if space.is_categorical.any() else "there are no categories"


class Broken(Objective):
    def bind(self, context: ObjectiveContext) -> Term | None:
        raise RuntimeError("cannot bind")


class Share(Metric):
    draws: int = 10

    def measure(self, found: Found, context: object) -> FloatArray:
        return found.loss


ENTRIES: tuple[Entry, ...] = (
    DatasetEntry(name="numbers", load=loader("numbers", NUMBERS, 23)),
    DatasetEntry(name="mixed", load=loader("mixed", MIXED, 40)),
    DatasetEntry(name="absent", load=unavailable),
    ModelEntry(name="stump", family=Stump),
    ModelEntry(name="glass", family=Stump, version="3", shows=[Need.FOREST]),
    SearcherEntry(name="walker", searcher=Walker, handles=list(Handles)),
    SearcherEntry(name="plain", searcher=plain, default_budget=1000),
    SearcherEntry(name="peeker", searcher=plain, handles=list(Handles), needs=[Need.FOREST]),
    SearcherEntry(name="guest", searcher=plain, handles=list(Handles), unavailable="install the extra `guest`"),
    ObjectiveEntry(name="none", objective=LossAlone),
    ObjectiveEntry(name="k", objective=Neighbours),
    ObjectiveEntry(name="wary", objective=Wary),
    ObjectiveEntry(name="broken", objective=Broken),
    MetricEntry(name="loss", metric=Share, measured_by_default=True),
    MetricEntry(name="walker", metric=Share),
)


def registry_of(*entries: Entry) -> Registry:
    kinds = (DatasetEntry, ModelEntry, SearcherEntry, ObjectiveEntry, MetricEntry)
    tables: dict[type[Entry], dict[str, Registered[Any]]] = {
        kind: {entry.name: Registered(entry, "", "", "test") for entry in entries if isinstance(entry, kind)}
        for kind in kinds
    }
    return Registry(RegistryOptions(), [], tables, [])


REGISTRY = registry_of(*ENTRIES)


def plan_of(**keys: Any) -> Plan:
    small = {"datasets": ["numbers"], "models": ["stump"], "searchers": ["walker"], "folds": [0], "metrics": ["loss"]}
    return make_plan(make_study({**small, **keys}), REGISTRY, SOURCE)


def keys_of(plan: Plan) -> list[str]:
    return [cell.info.key for cell in plan.cells]
