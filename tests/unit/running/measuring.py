"""Metrics that behave and metrics that do not, and a registry that has them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pandas as pd

from cfbench.registry.contracts import CellContext, ComparisonMetric, CounterfactualMetric, ObjectiveComparison
from cfbench.registry.entries import MetricEntry
from cfbench.registry.hookspecs import hookimpl
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.study.variants import Variant, resolve_variant
from tests.toys.studies import TOY


class Rows(CounterfactualMetric):
    """Rows asked, times a setting."""

    times: float = 1.0

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        found: pd.Series[float] = searches["search_queries"] * self.times
        return found.where(searches["repetition"] == 0)


class AsksModel(CounterfactualMetric):
    """The class of x, by the cell's own model."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        return pd.Series(context.model().predict(np.vstack(list(searches["x"]))).astype(float), index=searches.index)


class Noisy(CounterfactualMetric):
    """Draws from the global generators, and writes into what it was given."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        searches["status"] = "mine"
        return pd.Series(random.random() + np.random.rand(len(searches)), index=searches.index)  # noqa: NPY002 - as plugins do


class Raises(CounterfactualMetric):
    """Fails."""

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        raise KeyError("no such column")


class Wrong(CounterfactualMetric):
    """Returns what it must not."""

    how: str = "infinite"

    def measure(self, searches: pd.DataFrame, context: CellContext) -> pd.Series[float]:
        ones = pd.Series(1.0, index=searches.index)
        answers: dict[str, object] = {
            "infinite": ones / 0.0,
            "short": ones.iloc[1:],
            "shuffled": ones.iloc[::-1],
            "reindexed": ones.reset_index(drop=True),
            "words": ones.map(lambda _: "much"),
            "list": [1.0] * len(ones),
            "nothing": None,
        }
        return answers[self.how]  # type: ignore[return-value] # that is the mistake


class Beside(ComparisonMetric):
    """Compares."""


class BesideNone(ObjectiveComparison):
    """Compares objectives, by a number about each cell."""

    times: float = 1.0

    def measures(self) -> tuple[str, ...]:
        return (f"rows[times={self.times}]", "rows")


class Metrics:
    """The plugin that registers them."""

    version = "1"

    @hookimpl
    def cfbench_register_metrics(self) -> list[MetricEntry]:
        found = {
            "rows": Rows,
            "asks-model": AsksModel,
            "noisy": Noisy,
            "raises": Raises,
            "wrong": Wrong,
            "beside": Beside,
            "beside-none": BesideNone,
        }
        return [MetricEntry(name=name, metric=metric, version=self.version) for name, metric in found.items()]  # type: ignore[arg-type, unused-ignore] # one dict of both stages


class NextMetrics(Metrics):
    """A later release."""

    version = "2"


def registry_with(plugin: Metrics, toy: Path = TOY) -> Registry:
    """Return a registry of the toy plugin and these metrics."""
    return build_registry(RegistryOptions(plugins=(str(toy),)), objects=[plugin])


def variants(registry: Registry, *texts: str) -> list[Variant]:
    return [resolve_variant(registry, "metric", text) for text in texts]
