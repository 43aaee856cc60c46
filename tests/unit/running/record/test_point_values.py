"""Values of points' results: in the index, made again for older records, and never of searches that are no more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfbench.record.lines import encode_line, scan
from cfbench.record.point_values import packed, unpacked, values_of_results
from cfbench.record.record import Record
from cfbench.record.schema import MEASURE_SCHEMA
from cfbench.registry.events import CellInfo
from cfbench.space.space import FloatArray

MakeRow = Callable[..., dict[str, Any]]
ROBUST = ("k-robustness", "1", '{"m":1000}')
DRAWS = ("draws", "1", "{}")


def table(key: str, metric: tuple[str, str, str], values: dict[tuple[int, int], float | None]) -> pd.DataFrame:
    rows = [(key, *metric, point, repetition, value) for (point, repetition), value in values.items()]
    return pd.DataFrame(rows, columns=MEASURE_SCHEMA.names)


def same(given: FloatArray, expected: list[float]) -> bool:
    return np.array_equal(given, np.array(expected), equal_nan=True)


@pytest.fixture
def path(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> Path:
    """Return a record with a cell of three points, of which the second has its result in its second repetition."""
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        for point in (0, 1, 4):
            for repetition in (0, 1):
                better = {0: 0, 1: 1, 4: 0}[point] == repetition
                status = "crashed" if point == 4 else "found"
                record.append(
                    make_row(
                        point, repetition, status, objective_value=(0.1 if better else 0.9) if point != 4 else None
                    )
                )
        record.finish(info, {}, 9)
        values = {(0, 0): 0.5, (0, 1): 0.6, (1, 0): 0.7, (1, 1): 0.8, (4, 0): None, (4, 1): None}
        record.write_measures(info.key, table(info.key, ROBUST, values))
        record.write_measures(info.key, table(info.key, DRAWS, {**values, (1, 1): None}))
    return path


def test_a_points_value_is_that_of_its_result(path: Path, info: CellInfo) -> None:
    values = Record.open(path).point_values()
    assert values.metrics == {ROBUST, DRAWS}
    assert same(values.of(ROBUST)[info.key], [0.5, 0.8, np.nan])
    assert same(values.of(DRAWS)[info.key], [0.5, np.nan, np.nan])
    assert values.of(("absent", "1", "{}")) == {}
    summary = Record.open(path).summaries()[info.key]
    assert (summary.points, summary.results) == ((0, 1, 4), (0, 1, None))


def test_no_table_is_opened_for_them(path: Path, info: CellInfo) -> None:
    for file in path.glob("measures/*/*"):
        file.write_bytes(bytes(file.stat().st_size))
    reader = Record.open(path)
    assert same(reader.point_values().of(ROBUST)[info.key], [0.5, 0.8, np.nan])
    assert reader.problems == []


def test_what_was_measured_on_other_searches_does_not_count(path: Path, info: CellInfo, make_row: MakeRow) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(2))
        record.finish(info, {}, 9)
        assert record.point_values().metrics == set()
        record.write_measures(info.key, table(info.key, ROBUST, {(0, 0): 0.1, (2, 0): 0.2}))
        assert same(record.point_values().of(ROBUST)[info.key], [0.1, np.nan, 0.2, np.nan])


def without(path: Path, *names: str) -> None:
    """Take fields out of an index, as an earlier version wrote it."""
    lines = []
    for line in scan(path.read_bytes()).lines:
        content = {name: value for name, value in json.loads(line.payload).items() if name not in names}
        lines.append(encode_line(json.dumps(content, separators=(",", ":")).encode()))
    path.write_bytes(b"".join(lines))


def test_an_earlier_versions_record_is_read_from_its_tables_and_brought_up_to_date(path: Path, info: CellInfo) -> None:
    before = Record.open(path).summaries()
    without(path / "index.log", "points", "results")
    without(path / "measured.log", "values", "table")
    reader = Record.open(path)
    assert reader.summaries() == before
    assert same(reader.point_values().of(ROBUST)[info.key], [0.5, 0.8, np.nan])
    assert reader.problems == []
    Record.open(path, write=True).close()
    for name, field in (("index.log", b'"results":'), ("measured.log", b'"table":')):
        assert field in scan((path / name).read_bytes()).lines[-1].payload
    assert same(Record.open(path).point_values().of(ROBUST)[info.key], [0.5, 0.8, np.nan])


def test_an_earlier_line_without_a_table_is_understood(tmp_path: Path, info: CellInfo) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        record.skip(info, {}, "no constraints")
    without(tmp_path / "r" / "index.log", "points", "results")
    reader = Record.open(tmp_path / "r")
    assert reader.summaries()[info.key].skipped == "no constraints"
    assert reader.problems == []


def test_values_come_back_bit_by_bit() -> None:
    values = np.array([0.1, -0.0, 1e-300, np.nan, 1 / 3])
    assert unpacked(packed(values)).tobytes() == values.tobytes()
    assert unpacked(packed(np.zeros(0))).shape == (0,)
    with pytest.raises(ValueError, match=r"base64|padding|alphabet"):
        unpacked("no base64!")


def test_values_of_searches_that_are_no_result_are_left_out() -> None:
    found = values_of_results(table("k", ROBUST, {(0, 0): 0.5, (9, 9): 0.9}), [None, (0, 0)])
    assert same(found[ROBUST], [np.nan, 0.5])
