"""A finished cell taken over from another record is the cell that a run would have written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import record_digest

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"searcher": {"name": "cogs", "population_size": 50}}


def test_an_adopted_cell_is_the_one_that_a_run_writes(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> None:
    rows = [make_row(point) for point in range(3)]
    with Record.open(tmp_path / "run", write=True) as run, Record.open(tmp_path / "taken", write=True) as taken:
        for row in rows:
            run.append(row)
        summary = run.finish(info, CONTENT, 60)
        assert taken.adopt(info, CONTENT, 60, rows) == summary
        assert taken.summaries() == run.summaries()
        assert taken.done(info.key) == run.done(info.key)
    assert record_digest(tmp_path / "taken") == record_digest(tmp_path / "run")


def test_an_adopted_cell_replaces_what_was_there(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(tmp_path, write=True) as record:
        record.adopt(info, CONTENT, 60, [make_row(0, status="crashed")])
        record.append(make_row(1))
        record.adopt(info, CONTENT, 60, [make_row(0)])
        assert record.done(info.key) == {(0, 0): "found"}
        assert record.pending() == set()


def test_a_row_that_does_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path, make_row: MakeRow, info: CellInfo
) -> None:
    with Record.open(tmp_path, write=True) as record:
        with pytest.raises(RecordError, match="column 'point'"):
            record.adopt(info, CONTENT, 60, [make_row(0), make_row(-1)])
        assert record.summaries() == {}
    with Record.open(tmp_path) as reader, pytest.raises(RecordError, match="open for reading"):
        reader.adopt(info, CONTENT, 60, [make_row(0)])
