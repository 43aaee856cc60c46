"""Rebuilding a record from a store: resumed, brought up to date, and never over a record of somebody's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.errors import RecordError, TrackingError
from cfbench.record.store import Record
from cfbench.registry import CellFinished
from cfbench.tracking import MirroredCell, MirrorListing
from cfbench.tracking.mirror import MOST_TROUBLES, rebuild_record
from cfbench_reporters.cell_files import CellTables

WholeCell = Callable[..., CellFinished]


class Memory:
    """A store in memory that goes down after so many files."""

    def __init__(self, *events: CellFinished, lasts: int = 1000) -> None:
        self.lasts = lasts
        self.asked = 0
        self.foreign = 0
        self.files = {f"run-{event.cell.key[:4]}": CellTables.of(event).files() for event in events}
        self.cells = [
            MirroredCell(f"run-{event.cell.key[:4]}", event.cell.key, CellTables.of(event).digest()) for event in events
        ]

    def listing(self, study: str) -> MirrorListing:
        return MirrorListing(tuple(self.cells), (study or "quick",), self.foreign, 0, 0)

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        self.asked += 1
        if self.asked > self.lasts:
            raise TrackingError("the tracking store went down")
        if name not in self.files[run_id]:
            raise ValueError(f"it has no {name}")
        assert len(self.files[run_id][name]) <= most_bytes
        return self.files[run_id][name]


def _searches(path: Path) -> dict[str, int]:
    with Record.open(path) as record:
        return {summary.info.dataset: summary.searches for summary in record.summaries().values()}


def test_what_was_fetched_stays_and_the_rest_follows(tmp_path: Path, whole_cell: WholeCell) -> None:
    events = [whole_cell(dataset=name) for name in ("a", "b", "c")]
    store = Memory(*events, lasts=3)  # two files a cell: down in the middle of the second
    with pytest.raises(TrackingError, match="went down"):
        rebuild_record(store, tmp_path / "record")
    assert len(_searches(tmp_path / "record")) == 1
    store.lasts, store.asked = 1000, 0
    rebuilt = rebuild_record(store, tmp_path / "record")
    assert (rebuilt.fetched, rebuilt.kept, store.asked) == (2, 1, 4)
    assert _searches(tmp_path / "record") == {"a": 2, "b": 2, "c": 2}
    again = rebuild_record(store, tmp_path / "record")
    assert (again.fetched, again.kept, store.asked) == (0, 3, 4)


def test_a_cell_that_changed_is_replaced_and_one_that_is_gone_removed(tmp_path: Path, whole_cell: WholeCell) -> None:
    rebuild_record(Memory(whole_cell(dataset="a"), whole_cell(dataset="b")), tmp_path / "record")
    rebuilt = rebuild_record(Memory(whole_cell([0.5] * 4, dataset="b")), tmp_path / "record")
    assert (rebuilt.fetched, rebuilt.removed) == (1, 1)
    with Record.open(tmp_path / "record") as record:
        assert {s.info.dataset: s.searches for s in record.summaries().values()} == {"b": 4}
        assert record.problems == []
    assert "1 cells fetched earlier are not on the server" in " ".join(rebuilt.remarks())


def test_runs_that_are_unfit_are_left_out_and_named(tmp_path: Path, whole_cell: WholeCell) -> None:
    store = Memory(whole_cell(dataset="a"), whole_cell(dataset="b"))
    store.foreign = 1200
    bad = store.cells[0].run_id
    store.files[bad]["searches.parquet"] = b"PAR1"
    rebuilt = rebuild_record(store, tmp_path / "record")
    assert _searches(tmp_path / "record") == {"b": 2}
    assert (rebuilt.fetched, rebuilt.kept) == (1, 0)
    foreign, left_out = rebuilt.remarks()
    assert "1,200 of the runs there are no cells" in foreign
    assert f"run {bad}: its searches.parquet" in left_out


def test_one_run_without_files_is_left_out_and_a_store_without_files_is_an_error(
    tmp_path: Path, whole_cell: WholeCell
) -> None:
    events = [whole_cell(dataset=name) for name in "abcdefg"]
    store = Memory(*events)
    store.files[store.cells[0].run_id] = {}
    assert len(rebuild_record(store, tmp_path / "record").left_out) == 1
    store = Memory(*events)
    store.files = {run_id: {} for run_id in store.files}
    with pytest.raises(RecordError, match="artifacts have moved or are gone"):
        rebuild_record(store, tmp_path / "other")
    assert store.asked == MOST_TROUBLES


def test_a_record_of_ones_own_is_left_alone(tmp_path: Path, whole_cell: WholeCell) -> None:
    Record.open(tmp_path / "mine", write=True).close()
    with pytest.raises(RecordError, match="was not fetched"):
        rebuild_record(Memory(whole_cell()), tmp_path / "mine")
    assert _searches(tmp_path / "mine") == {}
