"""Metrics on the board: measured ones, those of strangers, those that are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from cfbench.analysis.measured import measurements_for
from cfbench.errors import CfbenchError, UnknownNameError
from cfbench.record.frames import MEASURE_SCHEMA
from cfbench.record.store import Record
from cfbench.registry.entries import Direction
from cfbench.registry.events import CellFinished
from cfbench.registry.registry import Registry, build_registry

FinishedCell = Callable[..., CellFinished]
OTHERS = ("found", "rank")


@pytest.fixture(scope="module")
def registry() -> Registry:
    return build_registry()


@pytest.fixture
def record(tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]) -> Record:
    """A record with a cell of two points and three metrics, one of them a stranger's."""
    cell = finished_cell([0.25, 0.5])
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, cell)
        for metric in (
            *(("k-robustness", "1", '{"m":1000}'), ("theirs[a=1]", "3", '{"a":1}')),
            *(("twice", "1", "{}"), ("twice", "2", "{}")),
        ):
            rows = [(cell.cell.key, *metric, point, 0, 0.5) for point in (0, 1)]
            record.write_measures(cell.cell.key, pd.DataFrame(rows, columns=MEASURE_SCHEMA.names))
    return Record.open(tmp_path / "r")


def labels(record: Record, registry: Registry, *names: str) -> list[str]:
    return measurements_for(names, OTHERS, record, registry, record.summaries())[1]


def test_without_names_the_default_metrics_as_far_as_the_record_has_them(record: Record, registry: Registry) -> None:
    found, names = measurements_for((), OTHERS, record, registry, record.summaries())
    assert ([column.label for column in found.columns], names) == (["k-robustness"], [])
    (column,) = found.columns
    assert column.direction is Direction.HIGHER
    assert [values.tolist() for values in found.of(column).values()] == [[0.5, 0.5]]
    assert found.complaints == ()


def test_names_get_their_canonical_labels(record: Record, registry: Registry) -> None:
    assert labels(record, registry, "found", "invalidity[draws=100,part=c]", "invalidity[part=k]", "found") == [
        *("found", "invalidity[part=c]", "invalidity")
    ]


def test_what_was_not_measured_is_a_column_and_a_complaint(record: Record, registry: Registry) -> None:
    found, _ = measurements_for(("fixability", "l0"), OTHERS, record, registry, record.summaries())
    assert [column.label for column in found.columns] == ["fixability", "l0"]
    assert found.complaints == (
        "not measured: fixability, l0; `cfbench measure --metric 'fixability' --metric 'l0' "
        f"--results {record.path}` adds them",
    )


def test_a_metric_that_needs_a_forest_says_so_of_other_models(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None], registry: Registry
) -> None:
    first = finished_cell().cell
    network = replace(first, key="a" * 32, model="neural-network[alpha=0.1]")
    with Record.open(tmp_path / "both", write=True) as record:
        put_cell(record, finished_cell([0.25], info=network))
    with Record.open(tmp_path / "both") as record:
        found, _ = measurements_for(("k-certified", "l0"), OTHERS, record, registry, record.summaries())
    needs = (
        "k-certified needs the model's forest or the model's linear structure, and neural-network does not show it: "
        "no values in 1 cell"
    )
    assert found.complaints == (
        needs,
        f"not measured: l0; `cfbench measure --metric 'l0' --results {tmp_path / 'both'}` adds them",
    )
    with Record.open(tmp_path / "both", write=True) as record:
        put_cell(record, finished_cell([0.25], info=first))
    with Record.open(tmp_path / "both") as record:
        found, _ = measurements_for(("k-certified",), OTHERS, record, registry, record.summaries())
    assert found.complaints == (
        needs,
        f"not measured: k-certified; `cfbench measure --metric 'k-certified' --results {tmp_path / 'both'}` adds them",
    )


def test_a_metric_of_a_plugin_that_is_not_here_is_known_by_the_record(record: Record, registry: Registry) -> None:
    found, _ = measurements_for(("theirs[a=1]",), OTHERS, record, registry, record.summaries())
    (column,) = found.columns
    assert (column.identity, column.direction) == (("theirs[a=1]", "3", '{"a":1}'), Direction.NEUTRAL)
    assert len(found.of(column)) == 1
    with pytest.raises(CfbenchError, match=r"the record holds several of that name \(1 \{\}, 2 \{\}\)"):
        labels(record, registry, "twice")


def test_unknown_names_list_columns_and_metrics(record: Record, registry: Registry) -> None:
    with pytest.raises(
        UnknownNameError, match=r"unknown column 'invalidty'\. Did you mean 'invalidity'\? Known: .*found"
    ):
        labels(record, registry, "invalidty")
    with pytest.raises(UnknownNameError, match="unknown setting of invalidity 'prt'"):
        labels(record, registry, "invalidity[prt=c]")


def test_a_former_name_of_a_metric_is_refused_with_the_present_one(record: Record, registry: Registry) -> None:
    with pytest.raises(UnknownNameError, match=r"The metric 'cost' is now 'loss'\.$"):
        labels(record, registry, "cost")
