"""Results beside those of the searcher that a metric names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench import ComparisonContext, Found, Metric, Reference
from cfbench.analysis.references import compare_cells
from cfbench.errors import StudyError
from cfbench.record.store import Record
from cfbench.registry import CellFinished
from cfbench.registry.entries import DatasetEntry, MetricEntry, ModelEntry, ObjectiveEntry, SearcherEntry
from cfbench.registry.registry import Registered, Registry, RegistryOptions
from cfbench.space import FloatArray
from cfbench.study.variants import Variant


class Above(Metric):
    reference = Reference(searcher="cogs")

    def compare(self, found: Found, reference: Found, context: ComparisonContext) -> FloatArray:
        above: FloatArray = found.loss - reference.figure("bound")
        return above

    def remarks(self, reference: Found) -> dict[str, int]:
        return {"of so many points": len(reference)}


def registry_of(entry: MetricEntry) -> Registry:
    kinds = (DatasetEntry, ModelEntry, SearcherEntry, ObjectiveEntry)
    metrics = {entry.name: Registered(entry, "", "", "test")}
    return Registry(RegistryOptions(), [], {MetricEntry: metrics, **{kind: {} for kind in kinds}}, [])


REGISTRY = registry_of(MetricEntry(name="above", metric=Above))
ABOVE = Variant("above", {}, "above")
TASK: dict[str, Any] = {
    "dataset": {"name": "credit"},
    "model": {"name": "rf"},
    "objective": {"name": "none"},
    "fold": 0,
    "constraints": False,
}


def put(path: Path, cells: list[tuple[CellFinished, dict[str, Any]]]) -> None:
    from cfbench_reporters.cell_files import search_table

    with Record.open(path, write=True) as record:
        for event, content in cells:
            assert event.searches is not None
            for row in search_table(event.searches).to_pylist():
                record.append({**row, "figures": dict(row["figures"])})
            record.finish(event.cell, content, eligible=20)


def test_only_the_same_task_and_the_same_model_are_held_against_each_other(finished_cell: Any, tmp_path: Path) -> None:
    first = finished_cell().cell
    mine = finished_cell((0.5, None, 0.25), info=replace(first, key="a" * 32, searcher="lore"))
    other_task = finished_cell((0.5,), info=replace(first, key="b" * 32, searcher="lore", objective="c"))
    other_model = finished_cell((0.5, 0.25), info=replace(first, key="d" * 32, searcher="dice-a"))
    other_model.searches["model_fingerprint"] = "e" * 32
    put(
        tmp_path / "results",
        [
            (finished_cell((0.2, 0.3), info=replace(first, key="c" * 32)), {**TASK, "seed": 1}),
            (mine, {**TASK, "seed": 2}),
            (other_task, {**TASK, "objective": {"name": "c"}}),
            (other_model, TASK),
        ],
    )
    with Record.open(tmp_path / "results") as record:
        comparisons = compare_cells(record, REGISTRY, [ABOVE])
    table = comparisons.table.set_index(["searcher", "row_id"])["value"]
    assert table["lore"].round(6).to_dict() == pytest.approx({10: 0.375, 11: float("nan")}, nan_ok=True)
    assert table["cogs"].to_dict() == pytest.approx({10: 0.075, 11: 0.175})
    assert comparisons.remarks == {"above: of so many points": 2}  # once of each of the reference's cells
    assert set(comparisons.complaints) == {
        "above: cogs has no results for the task; run it there",
        "dice-a and cogs queried different fitted models of credit, fold 0: run both with the same models (`cfbench "
        "fit` makes them)",
    }


def test_where_the_reference_is_skipped_its_reason_is_told(finished_cell: Any, tmp_path: Path) -> None:
    first = finished_cell().cell
    mine = finished_cell((0.5,), info=replace(first, searcher="lore"))
    put(tmp_path / "results", [(mine, TASK)])
    with Record.open(tmp_path / "results", write=True) as record:
        reference = replace(first, key="a" * 32, searcher="cogs")
        record.skip(reference, TASK, "cogs needs the model's structure")
    with Record.open(tmp_path / "results") as record:
        comparisons = compare_cells(record, REGISTRY, [ABOVE])
    assert comparisons.complaints == {"above: cogs needs the model's structure": 1}


def test_of_several_variants_of_the_reference_that_with_default_settings_counts(
    finished_cell: Any, tmp_path: Path
) -> None:
    first = finished_cell().cell
    hasty = replace(first, key="a" * 32, searcher="cogs[population_size=2]")
    cells = [(finished_cell((0.5,), info=first), TASK), (finished_cell((0.5, 0.5, 0.5), info=hasty), TASK)]
    put(tmp_path / "results", cells)
    with Record.open(tmp_path / "results") as record:
        comparisons = compare_cells(record, REGISTRY, [ABOVE])
    assert comparisons.remarks == {"above: of so many points": 1}


def test_remarks_that_are_none_are_a_complaint(finished_cell: Any, tmp_path: Path) -> None:
    class Mute(Above):
        def remarks(self, reference: Found) -> Any:
            return ["one"]

    put(tmp_path / "results", [(finished_cell((0.5,)), TASK)])
    with Record.open(tmp_path / "results") as record:
        registry = registry_of(MetricEntry(name="above", metric=Mute))
        complaints = compare_cells(record, registry, [ABOVE]).complaints
    assert complaints == {"metric 'above': remarks returned ['one'], not whole numbers by sentences": 1}


def test_a_metric_that_declares_no_such_reference_is_refused(tmp_path: Path, finished_cell: Any) -> None:
    from cfbench_metrics.judged import Loss
    from cfbench_metrics.optimality import RelativeLoss

    put(tmp_path / "results", [(finished_cell(), {})])
    for name, metric in {"loss": Loss, "relative-loss": RelativeLoss}.items():
        registry = registry_of(MetricEntry(name=name, metric=metric))
        words = f"'{name}' declares no other searcher or objective"
        with Record.open(tmp_path / "results") as record, pytest.raises(StudyError, match=words):
            compare_cells(record, registry, [Variant(name, {}, name)])
