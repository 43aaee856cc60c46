"""Every entry that cfbench ships passes the checks that a third party's entries have to pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cfbench.registry.discovery import OUR_DISTRIBUTION
from cfbench.registry.entries import MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.registry.registry import build_registry
from cfbench.testing import Result, check_metric, check_model, check_objective, parametrize_searchers
from cfbench_metrics.plugin import cfbench_register_metrics
from cfbench_models.forest import oracle as forest_oracle
from cfbench_models.plugin import cfbench_register_models
from cfbench_objectives.plugin import cfbench_register_objectives

SEARCHERS: list[SearcherEntry] = [
    registered.entry
    for registered in build_registry().searchers.values()
    if registered.distribution == OUR_DISTRIBUTION
]
MODELS = {entry.name: entry for entry in cfbench_register_models()}
OBJECTIVES = {entry.name: entry for entry in cfbench_register_objectives()}
METRICS = {entry.name: entry for entry in cfbench_register_metrics()}
OTHER_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "random-forest": [{"n_estimators": 3, "min_samples_split": 8}],
    "k": [{"m": 5}, {"m": 0}],
    "ck": [{"m": 5}, {"m": 0}],
    "validity": [{"check": "inside"}],
    "additional-cost": [
        {"part": "c", "setbacks": "raw", "l0": True},
        {"over": "invalidated", "distribution": "normal"},
        {"over": "fixable"},
    ],
    "relative-cost-published": [{"part": "c"}, {"part": "ck", "distribution": "normal"}],
    "invalidity": [{"part": "ck", "distribution": "normal", "draws": 7}],
    "accidental-robustness": [{"same_changes": False, "tolerance": 0.1}],
    "k-robustness": [{"m": 10}],
    "k-probability": [{"width": 0.2}],
}


def settings_of(name: str) -> list[dict[str, Any]]:
    return [{}, *OTHER_SETTINGS.get(name, [])]


COMPILING = 600.0
"""Seconds that a search may take here: without a cache, the first search of an exact searcher compiles its kernels."""


@pytest.mark.slow
@parametrize_searchers(*(entry for entry in SEARCHERS if not entry.unavailable), time_limit=COMPILING)
def test_searchers(check: Callable[[], None]) -> None:
    check()


def test_the_papers_searchers_and_the_baselines_are_there() -> None:
    papers = {"cogs", "dice-a", "dice-b", "growing-spheres", "growing-spheres-scaled", "lore", "nelder-mead"}
    assert papers | {"random-search", "nearest-unlike", "cma-es"} <= {entry.name for entry in SEARCHERS}


@pytest.mark.slow
@pytest.mark.parametrize("entry", MODELS.values(), ids=MODELS)
def test_models(entry: ModelEntry) -> None:
    for settings in settings_of(entry.name):
        report = check_model(entry, settings=settings)
        assert {finding.result for finding in report.findings} == {Result.PASSED}, str(report)


@pytest.mark.slow
def test_the_forest_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_oracle, "compiled_queries", lambda: None)
    report = check_model(MODELS["random-forest"])
    assert {finding.result for finding in report.findings} == {Result.PASSED}, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("entry", OBJECTIVES.values(), ids=OBJECTIVES)
def test_objectives(entry: ObjectiveEntry) -> None:
    for settings in settings_of(entry.name):
        report = check_objective(entry, settings=settings)
        assert report.passed, str(report)


@pytest.mark.parametrize("entry", METRICS.values(), ids=METRICS)
def test_metrics(entry: MetricEntry) -> None:
    for settings in settings_of(entry.name):
        report = check_metric(entry, settings=settings)
        assert report.passed, str(report)
