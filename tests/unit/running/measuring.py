"""Metrics that behave and metrics that do not, and a registry that has them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from cfbench.registry.entries import MetricEntry
from cfbench.registry.hookspecs import hookimpl
from cfbench.registry.metrics import CellContext, ComparisonContext, Found, Metric, Reference
from cfbench.registry.registry import Registry, RegistryOptions, build_registry
from cfbench.space.space import FloatArray
from cfbench.study.variants import Variant, resolve_variant
from tests.toys.studies import TOY


class Rows(Metric):
    """Rows asked, times a setting."""

    times: float = 1.0

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return np.where(found.repetitions == 0, found.search_queries * self.times, np.nan)


class AsksModel(Metric):
    """The class of x, by the cell's own model."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return context.model().predict(found.x).astype(float)


class Noisy(Metric):
    """Draws from the global generators."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return random.random() + np.random.rand(len(found))  # noqa: NPY002 - as plugins do


class Raises(Metric):
    """Fails."""

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        raise KeyError("no such column")


class Wrong(Metric):
    """Returns what it must not."""

    how: str = "infinite"

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        ones = np.ones(len(found))
        answers: dict[str, object] = {
            "infinite": ones * np.inf,
            "short": ones[1:],
            "square": np.ones((len(found), 1)),
            "words": np.array(["much"] * len(found)),
            "objects": np.array([None] * len(found)),
            "list": [1.0] * len(found),
            "nothing": None,
        }
        return answers[self.how]  # type: ignore[return-value] # that is the mistake


class Twice(Metric):
    """Twice the value of another metric."""

    of: str = "rows"

    def needs(self) -> tuple[str, ...]:
        return (self.of,)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return 2 * found.measured(self.of)


class Circular(Metric):
    """Needs itself."""

    def needs(self) -> tuple[str, ...]:
        return ("circular",)

    def measure(self, found: Found, context: CellContext) -> FloatArray:
        return found.measured("circular")


class Beside(Metric):
    """Compares."""

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        raise NotImplementedError


class BesideNone(Beside):
    """Compares objectives, by a number about each cell."""

    reference = Reference(objective="none")

    times: float = 1.0

    def needs(self) -> tuple[str, ...]:
        return (f"rows[times={self.times}]", "rows")


class Metrics:
    """The plugin that registers them."""

    version = "1"

    @hookimpl
    def cfbench_register_metrics(self) -> list[MetricEntry]:
        found: dict[str, type[Metric]] = {
            "rows": Rows,
            "asks-model": AsksModel,
            "noisy": Noisy,
            "raises": Raises,
            "wrong": Wrong,
            "twice": Twice,
            "circular": Circular,
            "beside": Beside,
            "beside-none": BesideNone,
        }
        return [MetricEntry(name=name, metric=metric, version=self.version) for name, metric in found.items()]


class NextMetrics(Metrics):
    """A later release."""

    version = "2"


def registry_with(plugin: Metrics, toy: Path = TOY) -> Registry:
    """Return a registry of the toy plugin and these metrics."""
    return build_registry(RegistryOptions(plugins=(str(toy),)), objects=[plugin])


def variants(registry: Registry, *texts: str) -> list[Variant]:
    return [resolve_variant(registry, "metric", text) for text in texts]
