"""Our own models keep the contract that a third party's are held to, with the compiler and without."""

from __future__ import annotations

from typing import Any

import pytest

from cfbench.registry.entries import ModelEntry
from cfbench.testing.check import Result
from cfbench.testing.models import check_model
from cfbench_models.forest import oracle as forest_oracle
from cfbench_models.plugin import cfbench_register_models

MODELS = {entry.name: entry for entry in cfbench_register_models()}
OTHER_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "random-forest": [{"n_estimators": 3, "min_samples_split": 8}],
    "neural-network": [],
}


@pytest.mark.slow
@pytest.mark.parametrize("entry", MODELS.values(), ids=MODELS)
def test_models(entry: ModelEntry) -> None:
    for settings in ({}, *OTHER_SETTINGS[entry.name]):
        report = check_model(entry, settings=settings)
        assert {finding.result for finding in report.findings} == {Result.PASSED}, str(report)


@pytest.mark.slow
def test_the_forest_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_oracle, "compiled_queries", lambda: None)
    report = check_model(MODELS["random-forest"])
    assert {finding.result for finding in report.findings} == {Result.PASSED}, str(report)
