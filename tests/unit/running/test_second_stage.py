"""The second stage on a record: what is missing is measured, without any search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cfbench.record.store import Record
from cfbench.registry.registry import Registry
from cfbench.running.second_stage import MetricCounts, SecondStage, measure_record, recorded_cell
from cfbench.running.worker import Worker
from tests.toys.studies import TOY
from tests.unit.running.measuring import Metrics, NextMetrics, registry_with, variants

if TYPE_CHECKING:
    from tests.toys.runs import Toys


@pytest.fixture
def registry() -> Registry:
    return registry_with(Metrics())


def second_stage(toys: Toys, results: Path, registry: Registry, *texts: str) -> SecondStage:
    with Record.open(results, write=True) as record:
        return measure_record(record, Worker(toys.setup, registry), registry, variants(registry, *texts))


def test_an_old_record_gets_a_metric_without_any_search(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    stage = second_stage(toys, results, registry, "rows", "asks-model")
    rows, classes = stage.tallies
    assert (stage.cells, stage.left_out, stage.failures) == (2, 0, {})
    # two folds of three points with two repetitions; `rows` has no value for the second repetition
    assert (rows.cells, rows.added, rows.counted, rows.searches) == (2, 2, 6, 12)
    assert (classes.cells, classes.added, classes.counted, classes.searches) == (2, 2, 12, 12)
    assert (rows.mean, classes.mean, MetricCounts(rows.metric).mean) == (200.0, 0.0, None)
    with Record.open(results) as record:
        for key in record.summaries():
            table = record.measures(key)
            assert set(table.loc[table["metric"] == "asks-model", "value"]) == {0.0}  # eligible: not of class 1
            assert set(table.loc[table["metric"] == "rows", "value"].dropna()) == {200.0}


def test_only_what_is_missing_is_computed(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    second_stage(toys, results, registry, "rows")
    again = second_stage(toys, results, registry, "rows", "rows[times=2]")
    assert [(tally.cells, tally.added) for tally in again.tallies] == [(2, 0), (2, 2)]
    newer = registry_with(NextMetrics())
    assert [tally.added for tally in second_stage(toys, results, newer, "rows").tallies] == [2]


def test_a_cell_that_has_grown_is_measured_again(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    second_stage(toys, results, registry, "rows")
    toys.run(results, folds=(0,), points=4)
    (tally,) = second_stage(toys, results, registry, "rows").tallies
    assert (tally.added, tally.counted, tally.searches) == (1, 4, 8)


def test_a_failing_metric_costs_only_itself_and_is_tried_again(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    stage = second_stage(toys, results, registry, "raises", "rows")
    assert [tally.cells for tally in stage.tallies] == [0, 2]
    assert stage.failures == {"metric 'raises' raised KeyError: 'no such column'": 2}


def test_another_model_than_the_searches_asked_is_refused(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    with Record.open(results) as record:
        (cell,) = record.summaries().values()
        searches = [{**row, "model_fingerprint": "0123"} for row in record.rows(cell.info.key)]
    measured = Worker(toys.setup, registry).measure(
        recorded_cell(cell), searches, tuple(variants(registry, "rows", "asks-model"))
    )
    assert [metric[0] for metric in measured.values] == ["rows"]
    (complaint,) = measured.complaints
    assert "model threshold on toy, fold 0, has fingerprint" in complaint
    assert "the searches queried one with 0123" in complaint


def test_another_table_than_the_searches_saw_is_refused(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results, folds=(0,))
    changed = tmp_path / "changed.py"
    changed.write_text(TOY.read_text("utf-8").replace("default_rng(5)", "default_rng(6)"), "utf-8")
    other = registry_with(Metrics(), changed)
    stage = second_stage(toys, results, other, "rows")
    (reason,) = stage.failures
    assert "data set 'toy' has digest" in reason
    assert stage.tallies[0].cells == 0


def test_a_cell_with_unfinished_searches_is_left_to_its_study(toys: Toys, registry: Registry, tmp_path: Path) -> None:
    results = tmp_path / "results"
    toys.run(results)
    with Record.open(results, write=True) as record:
        key = next(iter(record.summaries()))
        row = json.loads(
            record.searches(key).iloc[:1].drop(columns=["x", "z", "candidates"]).to_json(orient="records")
        )[0]
        row |= {"point": 3, "x": [1.0, 20.0, 0.0], "z": None, "candidates": [], "l0": None, "loss": None}
        row |= {"status": "not_found", "gower": None, "cost": None, "objective_value": None}
        record.append(row)
    stage = second_stage(toys, results, registry, "rows")
    assert (stage.cells, stage.left_out) == (1, 1)
