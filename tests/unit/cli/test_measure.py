"""``cfbench measure`` on a record of the toy plugin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench import run
from cfbench.cli import cli
from cfbench.errors import RecordError, StudyError, UnknownNameError
from cfbench.record.store import Record
from tests.toys.studies import STUDY, TOY

Measure = Callable[..., Result]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """The command on a record of one cell: two points, one search each."""
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    results = tmp_path / "results"
    run(STUDY, plugins=[TOY], results=results)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["measure", "--results", str(results), "--plugin", str(TOY), *arguments])

    return invoke


def rows(result: Result) -> dict[str, list[str]]:
    """The table's lines by metric, in words."""
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["metric", "cells", "measured", "now", "values", "mean", "denominator"]
    return {line.split()[0]: line.split()[1:] for line in lines}


def test_named_metrics_are_added_and_found_again(measure: Measure, tmp_path: Path) -> None:
    first = measure("--metric", "sparsity", "--metric", "validity[check=class]")
    assert first.exit_code == 0, first.output
    with Record.open(tmp_path / "results") as record:
        (key,) = record.summaries()
        changed = record.searches(key)["l0"].tolist()
    kept = 1 - sum(changed) / len(changed) / 3  # of three features
    found = f"2 of 2 {kept:.4g} searches that found a counterfactual"
    assert rows(first) == {
        "sparsity": ["1", "of", "1", "1", *found.split()],
        "validity[check=class]": [
            *["1", "of", "1", "1", "2", "of", "2", "1", "searches", "that", "returned", "a", "vector"]
        ],
    }
    again = measure("--metric", "sparsity")
    assert rows(again) == {"sparsity": ["1", "of", "1", "0", *found.split()]}


def test_all_of_them(measure: Measure) -> None:
    result = measure("--all")
    assert result.exit_code == 0, result.output
    assert {"success", "loss", "gower", "l0", "sparsity", "seconds", "queries", "validity"} <= set(rows(result))
    assert "relative-loss" not in rows(result)
    (note,) = [line for line in result.stderr.splitlines() if line.startswith("Note: left out")]
    assert "relative-loss" in note
    assert "`cfbench leaderboard`" in note
    assert "left out" not in measure("--metric", "loss").stderr


def test_a_metric_that_needs_a_forest_says_so_of_other_models(measure: Measure) -> None:
    result = measure("--metric", "k-certified", "--metric", "l0")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        "Note: k-certified needs the model's forest or the model's linear structure, and threshold does not show it: "
        "no values in 1 cell"
    ]


def test_a_presets_metrics_and_what_its_comparisons_need(measure: Measure) -> None:
    result = measure("--preset", "paper")
    assert result.exit_code == 0, result.output
    assert {"success", "k-robustness", "fixability[part=c]", "actual-cost", "unfixable"} <= set(rows(result))
    assert "left out" not in result.stderr
    unknown = measure("--preset", "papers").exception
    assert isinstance(unknown, UnknownNameError)
    assert unknown.known[0] == "paper"


def test_a_studys_metrics_and_its_record(measure: Measure, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    lists = 'datasets = ["toy"]\nmodels = ["threshold"]\nsearchers = ["toy-dice"]\n'
    more = 'metrics = ["l0", "validity", "relative-loss"]\nsettings.validity.check = "class"\n'
    study.write_text(f"{lists}{more}results = {str(tmp_path / 'results')!r}\n")
    result = CliRunner().invoke(cli, ["measure", str(study), "--plugin", str(TOY)])
    assert result.exit_code == 0, result.output
    assert set(rows(result)) == {"l0", "validity[check=class]"}
    assert "relative-loss" in result.stderr  # compares: left out, as in a run
    assert set(rows(measure(str(study), "--metric", "gower"))) == {"gower", "l0", "validity[check=class]"}
    elsewhere = measure(str(study), "--results", str(tmp_path / "other")).exception
    assert isinstance(elsewhere, RecordError)
    assert "other" in str(elsewhere)
    study.write_text(f"{lists}metrics = ['sparseness']\n")
    assert isinstance(measure(str(study)).exception, UnknownNameError)


def test_bad_requests(measure: Measure, tmp_path: Path) -> None:
    assert measure().exit_code == 2
    assert "name metrics with --metric NAME" in measure().output
    unknown = measure("--metric", "sparsty").exception
    assert isinstance(unknown, UnknownNameError)
    assert unknown.known[0] == "sparsity"
    comparing = measure("--metric", "relative-loss").exception
    assert isinstance(comparing, StudyError)
    assert "cfbench leaderboard --reference" in str(comparing)
    setting = measure("--metric", "validity[check=colour]").exception
    assert isinstance(setting, StudyError)
    absent = CliRunner().invoke(cli, ["measure", "--all", "--results", str(tmp_path / "absent")]).exception
    assert isinstance(absent, RecordError)
    assert "the folder does not exist" in str(absent)


def test_a_metric_that_fails_is_told_with_the_others_kept(measure: Measure, tmp_path: Path) -> None:
    plugin = tmp_path / "broken_metric.py"
    plugin.write_text(
        "from cfbench import Metric, MetricEntry, hookimpl\n"
        "class Broken(Metric):\n"
        "    def measure(self, found, context):\n"
        "        return found.seconds * float('inf')\n"
        "@hookimpl\n"
        "def cfbench_register_metrics():\n"
        "    yield MetricEntry(name='broken', metric=Broken)\n"
    )
    result = measure("--plugin", str(plugin), "--metric", "broken", "--metric", "loss")
    assert result.exit_code == 1
    assert rows(result)["loss"][:3] == ["1", "of", "1"]
    assert rows(result)["broken"] == ["0", "of", "1", "0", "0", "of", "0", "-", "-"]
    assert "Failed: metric 'broken' returned inf for row 0" in result.stderr
