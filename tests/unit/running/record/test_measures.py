"""Metrics of finished cells: added, replaced, and outdated when the cell's searches change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfbench.errors import RecordError
from cfbench.record.record import Record
from cfbench.record.schema import MEASURE_SCHEMA
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
SPARSITY = ("sparsity", "1", "{}")


@pytest.fixture
def path(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> Path:
    """Return a record with one finished cell of three searches."""
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        for point in range(3):
            record.append(make_row(point, status="crashed" if point == 2 else "found"))
        record.finish(info, {}, 9)
    return path


def measured(info: CellInfo, values: list[float | None], metric: tuple[str, str, str] = SPARSITY) -> pd.DataFrame:
    points = range(len(values))
    columns = [[info.key] * len(values), *([part] * len(values) for part in metric), points, [0] * len(values), values]
    return pd.DataFrame(dict(zip(MEASURE_SCHEMA.names, columns, strict=True)))


def test_measures_are_added_and_replaced(path: Path, info: CellInfo) -> None:
    other = ("draws[n=10]", "2", '{"n":10}')
    with Record.open(path, write=True) as record:
        assert record.measured() == {}
        assert record.measures(info.key).empty
        record.write_measures(info.key, measured(info, [0.5, None, 0.25]))
        record.write_measures(info.key, measured(info, [7.0], other))
        record.write_measures(info.key, measured(info, [0.125, 0.5, None]))
        assert record.measured() == {info.key: {SPARSITY, other}}
    reader = Record.open(path)
    frame = reader.measures(info.key)
    assert list(frame.columns) == MEASURE_SCHEMA.names
    assert list(frame["metric"]) == ["draws[n=10]", "sparsity", "sparsity", "sparsity"]
    assert list(frame["value"].dropna()) == [7.0, 0.125, 0.5]
    assert frame["value"].dtype == "float64"
    assert reader.measured() == {info.key: {SPARSITY, other}}


def test_another_version_or_setting_is_another_metric(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        for metric in (SPARSITY, ("sparsity", "2", "{}"), ("sparsity", "1", '{"a":1}')):
            record.write_measures(info.key, measured(info, [1.0], metric))
        assert len(record.measured()[info.key]) == 3
        assert len(record.measures(info.key)) == 3


def test_a_grown_cell_has_to_be_measured_again(path: Path, info: CellInfo, make_row: MakeRow) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, 2.0, None]))
        record.finish(info, {}, 9)
        assert record.measured() == {info.key: {SPARSITY}}  # nothing has changed
        record.append(make_row(3))
        record.finish(info, {}, 9)
        assert record.measured().get(info.key, set()) == set()
        assert Record.open(path).measured() == {}
        assert len(record.measures(info.key)) == 3  # outdated, and still readable
        other = ("loss", "1", "{}")
        record.write_measures(info.key, measured(info, [1.0] * 4, other))
        assert record.measured() == Record.open(path).measured() == {info.key: {other}}
        record.write_measures(info.key, measured(info, [1.0] * 4))
        assert record.measured() == {info.key: {SPARSITY, other}}


def test_what_was_measured_on_forgotten_searches_goes(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, 2.0, 3.0]))
        record.forget(info.key, ["crashed"])
        assert list(record.measures(info.key)["value"]) == [1.0, 2.0]
        assert record.measured().get(info.key, set()) == set()


@pytest.mark.parametrize("damage", [None, b"", b"9 00000000 something\n"])
def test_its_index_is_made_again_from_the_tables(path: Path, info: CellInfo, damage: bytes | None) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, None, 3.0]))
    index = path / "measured.log"
    index.unlink() if damage is None else index.write_bytes(damage)
    assert Record.open(path).measured() == {info.key: {SPARSITY}}
    with Record.open(path, write=True) as record:
        assert record.measured() == {info.key: {SPARSITY}}
        assert bool(record.problems) == bool(damage)
    assert index.read_bytes().count(b"\n") == 1


def test_a_damaged_table_is_reported_and_written_anew(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0]))
    (table,) = path.glob("measures/*/*")
    table.write_bytes(table.read_bytes()[:-20])
    with Record.open(path, write=True) as record:
        assert record.measures(info.key).empty
        assert len(record.problems) == 1
        assert str(table) in record.problems[0]
    reader = Record.open(path)
    assert reader.measured() == {}
    damage = "it is cut off, damaged, or not from a record"
    assert reader.problems == [f"{table} cannot be read ({damage}); `cfbench measure` writes it anew"]
    with Record.open(path, write=True) as record:
        assert record.measured() == {}, "the table does not hold them any more"
        assert record.problems == reader.problems
        record.write_measures(info.key, measured(info, [1.0]))
        assert record.measured() == {info.key: {SPARSITY}}
    assert list(Record.open(path).measures(info.key)["value"]) == [1.0]
    assert table.with_name(f"{table.name}.damaged").exists()


def test_a_table_that_may_not_be_read_is_not_replaced(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0]))
    (table,) = path.glob("measures/*/*")
    table.unlink()
    table.symlink_to(table)  # refused to everybody, root included
    reader = Record.open(path)
    assert reader.measures(info.key).empty
    assert "left out, and stays as it is" in reader.problems[0]
    with Record.open(path, write=True) as record:
        with pytest.raises(RecordError, match="cannot be read: Too many levels of symbolic links"):
            record.measured()
        with pytest.raises(RecordError, match="cannot be read"):
            record.write_measures(info.key, measured(info, [1.0]))
    assert table.is_symlink()


def test_what_cannot_be_written_is_refused(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        with pytest.raises(RecordError, match="lacks the columns value"):
            record.write_measures(info.key, measured(info, [1.0]).drop(columns="value"))
        with pytest.raises(RecordError, match="cannot be written to cell 0123"):
            record.write_measures(info.key, measured(info, [1.0]).assign(cell_key="f" * 32))
        with pytest.raises(RecordError, match="do not fit their schema"):
            record.write_measures(info.key, measured(info, [1.0]).assign(value="high"))
        with pytest.raises(RecordError, match=r"cell ffff.* is not finished"):
            record.write_measures("f" * 32, measured(info, [1.0]))
        assert record.measures(info.key).empty
