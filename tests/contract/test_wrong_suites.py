"""Presets and reports with one fault each fail the one check that guards against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cfbench.analysis.reports import RenderedReport, ReportContext
from cfbench.errors import CfbenchError
from cfbench.registry.entries import PresetEntry, ReportEntry
from cfbench.registry.registry import Registry, build_registry
from cfbench.testing.check import Result
from cfbench.testing.suites import check_preset, check_report

BLIND = {"searchers": ["exact-trees"], "models": ["neural-network"]}
"""A white box on a model that shows no forest."""

KEYS = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["lore", "cogs"], "points": 1, "folds": [0]}


@pytest.fixture(scope="module")
def registry() -> Registry:
    return build_registry()


@pytest.mark.parametrize(
    ("fields", "results", "why"),
    [
        ({"study": KEYS, "reference": "lore"}, ["passed", "passed", "passed"], ""),
        ({"study": KEYS}, ["passed", "passed", "not applicable"], ""),
        ({"study": {**KEYS, "pionts": 1}}, ["failed", "not applicable", "not applicable"], "pionts"),
        ({"study": lambda _: None}, ["failed", "not applicable", "not applicable"], "returned NoneType"),
        (
            {"study": {**KEYS, **BLIND}},
            ["passed", "failed"],
            "needs the model's forest",
        ),
        ({"study": KEYS, "reference": "dice-a"}, ["passed", "passed", "failed"], "not among its searchers: cogs, lore"),
    ],
)
def test_presets(fields: Any, results: list[str], why: str, registry: Registry) -> None:
    report = check_preset(PresetEntry(name="mine", **fields), registry=registry)
    assert [finding.result for finding in report.findings][: len(results)] == results
    assert report.passed == ("failed" not in results)
    assert all(why in finding.why for finding in report.failures)


def says(context: ReportContext) -> RenderedReport:
    return RenderedReport({"cells.txt": str(len(context.record.keys())).encode()})


def refuses(_: ReportContext) -> RenderedReport:
    raise CfbenchError("there is nothing to show")


@pytest.mark.parametrize(
    ("fields", "results", "why"),
    [
        ({"render": says}, ["passed", "not applicable"], ""),
        (
            {"render": refuses, "first_steps": lambda path, name: f"{name} run {path}"},
            ["passed", "passed"],
            "",
        ),
        ({"render": lambda _: 1 / 0}, ["failed", "not applicable"], "render raised ZeroDivisionError"),
        ({"render": lambda _: "text"}, ["failed", "not applicable"], "render returned str"),
        ({"render": says, "first_steps": lambda _, name: f"{name} run"}, ["passed", "failed"], "'cfbench run'"),
        ({"render": says, "first_steps": lambda path: path}, ["passed", "failed"], "raised TypeError"),
    ],
)
def test_reports(fields: Any, results: list[str], why: str, registry: Registry) -> None:
    report = check_report(ReportEntry(name="mine", **fields), registry=registry)
    assert [finding.result for finding in report.findings] == results
    assert all(why in finding.why for finding in report.failures)


@pytest.mark.parametrize("name", ["quick", "standard", "models", "paper"])
def test_our_presets(name: str, registry: Registry) -> None:
    assert check_preset(registry.preset(name).entry, registry=registry).passed


def test_our_report(registry: Registry) -> None:
    report = check_report(registry.report("paper").entry, registry=registry)
    assert [finding.result for finding in report.findings] == [Result.PASSED] * 2


def test_a_report_has_files_that_lie_in_its_folder(tmp_path: Path) -> None:
    for name in ("../out.txt", str(tmp_path / "out.txt"), "", "a/../../b"):
        with pytest.raises(CfbenchError, match="would lie outside its folder"):
            RenderedReport({name: b""})
    with pytest.raises(CfbenchError, match="renders no file"):
        RenderedReport({})
    with pytest.raises(CfbenchError, match=r"out.txt is str; contents are bytes"):
        RenderedReport({"out.txt": "text"})  # type: ignore[dict-item]
