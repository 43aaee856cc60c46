"""Metrics of finished cells: added, replaced, and outdated when the cell's searches change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.errors import RecordError
from cfbench.record.frames import MEASURE_SCHEMA
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import damage, forge

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
        record.write_measures(info.key, measured(info, [7.0, None, None], other))
        record.write_measures(info.key, measured(info, [0.125, 0.5, None]))
        assert record.measured() == {info.key: {SPARSITY, other}}
    reader = Record.open(path)
    frame = reader.measures(info.key)
    assert list(frame.columns) == MEASURE_SCHEMA.names
    assert list(frame["metric"]) == ["draws[n=10]"] * 3 + ["sparsity"] * 3
    assert list(frame["value"].dropna()) == [7.0, 0.125, 0.5]
    assert frame["value"].dtype == "float64"
    assert reader.measured() == {info.key: {SPARSITY, other}}


def test_a_grown_cell_has_to_be_measured_again(path: Path, info: CellInfo, make_row: MakeRow) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, 2.0, None]))
        record.finish(info, {}, 9)
        assert record.measured() == {info.key: {SPARSITY}}  # nothing has changed
        record.append(make_row(3))
        record.finish(info, {}, 9)
        assert record.measured().get(info.key, set()) == set()
        assert Record.open(path).measured() == {}
        assert record.measures(info.key).empty
        other = ("loss", "1", "{}")
        record.write_measures(info.key, measured(info, [1.0] * 4, other))
        assert record.measured() == Record.open(path).measured() == {info.key: {other}}
        record.write_measures(info.key, measured(info, [1.0] * 4))
        assert record.measured() == {info.key: {SPARSITY, other}}


def test_what_was_measured_on_forgotten_searches_goes(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, 2.0, 3.0]))
        record.forget(info.key, ["crashed"])
        assert record.measures(info.key).empty
        assert record.measured().get(info.key, set()) == set()


@pytest.mark.parametrize("is_forged", [False, True])
def test_damaged_measures_are_reported_and_measured_again(path: Path, info: CellInfo, is_forged: bool) -> None:
    other = ("loss", "1", "{}")
    with Record.open(path, write=True) as record:
        record.write_measures(info.key, measured(info, [1.0, 2.0, 3.0]))
        record.write_measures(info.key, measured(info, [1.0, 2.0, 3.0], other))
    if is_forged:
        forge(path, "measures", "metric = 'sparsity'", values=[1.0])
    else:
        damage(path, "measures", "metric = 'sparsity'")
    reader = Record.open(path)
    assert reader.measured() == {info.key: {other}}
    assert set(reader.measures(info.key)["metric"]) == {"loss"}
    assert reader.point_values().metrics == {other}
    if not is_forged:
        assert f"measures of cell {info.key} by sparsity are damaged" in reader.problems[0]
        assert "`cfbench measure` measures it again" in reader.problems[0]
    with Record.open(path, write=True) as record:
        assert record.measured() == {info.key: {other}}
        record.write_measures(info.key, measured(info, [1.0, 2.0, 3.0]))
        assert record.measured() == {info.key: {SPARSITY, other}}
    assert Record.open(path).problems == []


def test_a_points_value_is_that_of_its_result(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> None:
    """Three points of two repetitions: the second has its result in its second repetition, the third has none."""
    with Record.open(tmp_path / "r", write=True) as record:
        for point, best in ((0, 0), (1, 1), (4, None)):
            for repetition in (0, 1):
                value = None if best is None else 0.1 if best == repetition else 0.9
                record.append(
                    make_row(point, repetition, "crashed" if best is None else "found", objective_value=value)
                )
        record.finish(info, {}, 9)
        searches = [(0, 0), (0, 1), (1, 0), (1, 1), (4, 0), (4, 1)]
        frame = pd.DataFrame(
            [(info.key, *SPARSITY, *search, value) for search, value in zip(searches, range(6), strict=True)],
            columns=MEASURE_SCHEMA.names,
        )
        record.write_measures(info.key, frame.iloc[::-1])
        assert list(record.measures(info.key)["value"]) == [0, 1, 2, 3, 4, 5]
    reader = Record.open(tmp_path / "r")
    values = reader.point_values()
    np.testing.assert_array_equal(values.of(SPARSITY)[info.key], [0.0, 3.0, np.nan])
    assert values.of(("absent", "1", "{}")) == {}
    summary = reader.summaries()[info.key]
    assert (summary.points, summary.results) == ((0, 1, 4), (0, 1, None))


def test_what_cannot_be_written_is_refused(path: Path, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        with pytest.raises(RecordError, match="lacks the columns value"):
            record.write_measures(info.key, measured(info, [1.0]).drop(columns="value"))
        with pytest.raises(RecordError, match="cannot be written to cell 0123"):
            record.write_measures(info.key, measured(info, [1.0]).assign(cell_key="f" * 32))
        with pytest.raises(RecordError, match="do not fit their schema"):
            record.write_measures(info.key, measured(info, [1.0]).assign(value="high"))
        with pytest.raises(RecordError, match="by sparsity are 2, and not one of each of the 3 finished searches"):
            record.write_measures(info.key, measured(info, [1.0, 2.0]))
        with pytest.raises(RecordError, match="by sparsity are 6, and not one of each"):
            record.write_measures(info.key, pd.concat([measured(info, [1.0] * 3)] * 2))
        with pytest.raises(RecordError, match=r"cell ffff.* is not finished"):
            record.write_measures("f" * 32, measured(info, [1.0]))
        assert record.measures(info.key).empty
