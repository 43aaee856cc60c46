"""Our own objectives and metrics keep the contract that a third party's are held to."""

from __future__ import annotations

from typing import Any

import pytest

from cfbench.registry.entries import MetricEntry, ObjectiveEntry
from cfbench.testing.metrics import check_metric
from cfbench.testing.objectives import check_objective
from cfbench_metrics.plugin import cfbench_register_metrics
from cfbench_objectives.plugin import cfbench_register_objectives

OBJECTIVES = {entry.name: entry for entry in cfbench_register_objectives()}
METRICS = {entry.name: entry for entry in cfbench_register_metrics()}
OTHER_SETTINGS: dict[str, list[dict[str, Any]]] = {
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


@pytest.mark.slow
@pytest.mark.parametrize("entry", OBJECTIVES.values(), ids=OBJECTIVES)
def test_objectives(entry: ObjectiveEntry) -> None:
    for settings in ({}, {"m": 5}, {"m": 0}) if entry.name in ("k", "ck") else ({},):
        report = check_objective(entry, settings=settings)
        assert report.passed, str(report)


@pytest.mark.parametrize("entry", METRICS.values(), ids=METRICS)
def test_metrics(entry: MetricEntry) -> None:
    for settings in ({}, *OTHER_SETTINGS.get(entry.name, [])):
        report = check_metric(entry, settings=settings)
        assert report.passed, str(report)
