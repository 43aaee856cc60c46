"""Seconds of several kinds of machines are never compared without a word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from cfbench.analysis.notes import NoteKind, seconds_of_machines
from cfbench.analysis.published import CombinedRecord
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished

FAST = {"processor": "Fast", "cores": "64", "python": "3.12"}
SLOW = {"processor": "Slow", "cores": "2", "python": "3.12"}


def test_one_record_of_one_kind_of_machine_needs_no_word(tmp_path: Path) -> None:
    with Record.open(tmp_path, write=True) as record:
        assert seconds_of_machines(record) == []  # it does not say
        record.add_machines([SLOW, {**SLOW, "python": "3.11"}])
        assert seconds_of_machines(record) == []
        record.add_machines([FAST])
        assert seconds_of_machines(record) == [
            "seconds are of several machines and not comparable: Fast, 64 cores; Slow, 2 cores"
        ]


def test_next_to_the_published_record_both_machines_are_named(
    tmp_path: Path, finished_cell: Callable[..., CellFinished], put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        cell = finished_cell([0.25])
        content = {"dataset": {"digest": "d"}, "fold": 0, "searcher": {"name": "cogs"}}
        put_cell(there, replace(cell, content=content))
        mine = replace(cell.cell, key="0" * 31 + "2", searcher="mine")
        assert cell.searches is not None
        searches = cell.searches.assign(cell_key=mine.key)
        content |= {"searcher": {"name": "mine"}}
        put_cell(own, replace(cell, cell=mine, read_tables=lambda: (searches, None), content=content))
        there.add_machines([FAST])
        (note,) = seconds_of_machines(CombinedRecord(own, there))
        assert note == "seconds are not comparable: yours of an unknown machine, published of Fast, 64 cores"
        own.add_machines([SLOW])
        (note,) = seconds_of_machines(CombinedRecord(own, there))
        assert note == "seconds are not comparable: yours of Slow, 2 cores, published of Fast, 64 cores"
        assert note.kind is NoteKind.MACHINES
        there.add_machines([SLOW])
        (note,) = seconds_of_machines(CombinedRecord(own, there))
        assert note.endswith("published of Fast, 64 cores or Slow, 2 cores")


def test_two_records_of_one_kind_of_machine_need_no_word(
    tmp_path: Path, finished_cell: Callable[..., CellFinished], put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "own", write=True) as own, Record.open(tmp_path / "there", write=True) as there:
        content = {"dataset": {"digest": "d"}, "fold": 0}
        put_cell(there, replace(finished_cell([0.25]), content=content))
        put_cell(own, replace(finished_cell([0.25, 0.5]), content=content))  # of the same cell, with more searches
        for record in (own, there):
            record.add_machines([SLOW])
        assert seconds_of_machines(CombinedRecord(own, there)) == []
