"""Parquet files: one content, one text; damage shows."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.record.frames import search_frame
from cfbench.record.rows import Row, checked_row
from cfbench.record.schema import SEARCH_SCHEMA
from cfbench.record.tables import UnreadableTableError, decode_cell, encode_cell, rows_of, search_table
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def given(make_row: MakeRow) -> list[Row]:
    statuses = {3: "crashed", 4: "not_found"}
    return [checked_row(make_row(p, r, statuses.get(p, "found"))) for p in range(6) for r in range(2)]


def test_the_order_of_rows_and_of_settings_changes_no_byte(given: list[Row], info: CellInfo) -> None:
    shuffled = given.copy()
    random.Random(1).shuffle(shuffled)
    content, turned = {"a": {"x": 1, "y": [2]}, "b": 0.5}, {"b": 0.5, "a": {"y": [2], "x": 1}}
    assert shuffled != given
    assert encode_cell(info, content, 60, shuffled) == encode_cell(info, turned, 60, given)


def test_a_file_gives_back_cell_and_rows(given: list[Row], info: CellInfo) -> None:
    stored = decode_cell(encode_cell(info, {"a": 1}, 60, given), info.key)
    assert (stored.info, stored.content, stored.eligible) == (info, {"a": 1}, 60)
    assert stored.table.schema.equals(SEARCH_SCHEMA)
    assert stored.table.schema.metadata == SEARCH_SCHEMA.metadata
    assert repr(rows_of(stored.table)) == repr(given)


def test_every_damaged_byte_is_noticed(given: list[Row], info: CellInfo) -> None:
    data = encode_cell(info, {"a": 1}, 60, given[:3])
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        with pytest.raises(UnreadableTableError):
            decode_cell(bytes(damaged), info.key)


def test_the_seal_in_a_cells_own_text_is_no_seal(given: list[Row], info: CellInfo) -> None:
    seal = "cfbench-crc32-00000000"
    rows = [row | {"reason": seal} for row in given]
    stored = decode_cell(encode_cell(replace(info, model=seal), {seal: seal}, 60, rows), info.key)
    assert stored.content == {seal: seal}


def test_a_file_cut_anywhere_is_unreadable(given: list[Row], info: CellInfo) -> None:
    data = encode_cell(info, {}, 60, given)
    for length in [0, 1, 4, 12, len(data) // 2, *range(len(data) - 12, len(data))]:
        with pytest.raises(UnreadableTableError):
            decode_cell(data[:length], info.key)


def test_a_foreign_file_is_unreadable(given: list[Row], info: CellInfo) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"a": [1]}), sink)
    with pytest.raises(UnreadableTableError):
        decode_cell(sink.getvalue().to_pybytes(), info.key)
    with pytest.raises(UnreadableTableError, match="it holds cell 0123"):
        decode_cell(encode_cell(info, {}, 60, given), "f" * 32)
    with pytest.raises(UnreadableTableError, match="it holds cell ffff"):
        decode_cell(encode_cell(replace(info, key="f" * 32), {}, 60, given), info.key)


def test_a_frame_holds_arrays_and_pairs(given: list[Row]) -> None:
    frame = search_frame(search_table(reversed(given)))
    assert list(frame.columns) == SEARCH_SCHEMA.names
    found, crashed = frame.iloc[1], frame.iloc[6]
    assert found["x"].dtype == np.float64
    np.testing.assert_array_equal(found["x"], [0.125, -0.0, 1e-300])
    np.testing.assert_array_equal(found["z"], [0.125, 2.0, 0.1])
    np.testing.assert_array_equal(found["candidates"], [[0.125, 2.0, 0.1], [0.0, 1.0, 2.0]])
    assert found["anytime"] == [(1, 1.5), (50, 0.5)]
    assert found["figures"] == {"bound": 0.125, "slack": float("inf")}
    assert found["l0"] == 2.0
    assert crashed["z"] is None
    assert crashed["candidates"].shape == (0, 3)
    assert np.isnan(crashed["loss"])
    assert np.isnan(crashed["l0"])
    found["x"][0] = 5.0  # the reader's own copy


def test_a_frame_without_rows_has_the_columns(make_row: MakeRow) -> None:
    empty = search_frame(SEARCH_SCHEMA.empty_table())
    full = search_frame(search_table([checked_row(make_row(0))]))
    assert len(empty) == 0
    assert list(empty.columns) == SEARCH_SCHEMA.names
    assert list(empty.dtypes) == list(full.dtypes)


def test_a_whole_file_of_rows_that_no_search_gives_names_the_search(given: list[Row], info: CellInfo) -> None:
    for change, fault in (
        ({"cpu_seconds": -1.0}, "point 2, repetition 1: column 'cpu_seconds'"),
        ({"status": "bogus"}, "point 2, repetition 1: column 'status'"),
        ({"z": [1.0]}, "point 2, repetition 1: column 'z'.*1 numbers, and x has 3"),
        ({"point": 1}, "point 1, repetition 1: it is there twice"),
    ):
        rows = [row | (change if (row["point"], row["repetition"]) == (2, 1) else {}) for row in given]
        with pytest.raises(UnreadableTableError, match=fault):
            decode_cell(encode_cell(info, {}, 60, rows), info.key)
