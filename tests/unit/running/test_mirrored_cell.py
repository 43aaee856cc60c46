"""What a tracking store says of a cell is believed only as far as it can be checked."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.record import MEASURE_SCHEMA, SEARCH_SCHEMA
from cfbench.registry import CellFinished
from cfbench.tracking import mirror as mirrored_cell
from cfbench.tracking.mirror import UnfitCellError, fetched_cell
from cfbench_reporters.cell_files import CellTables

WholeCell = Callable[..., CellFinished]


def _measures(key: str) -> pd.DataFrame:
    whole = [(key, "sparsity", "1", "{}", point, 0, float(point)) for point in (0, 1)]
    partial = [(key, "k-score", "1", "{}", 0, 0, 0.5)]
    return pd.DataFrame([*whole, *partial], columns=MEASURE_SCHEMA.names)


@pytest.fixture
def event(whole_cell: WholeCell) -> CellFinished:
    event = whole_cell()
    return replace(event, read_tables=lambda: (event.searches, _measures(event.cell.key)))


def _read(files: Mapping[str, bytes], key: str) -> Any:
    return fetched_cell(key, lambda name, _: files[name])


def _about(files: dict[str, bytes], changes: Mapping[str, Any]) -> dict[str, bytes]:
    about = json.loads(files["cell.json"])
    for path, value in changes.items():
        *folders, last = path.split("__")
        place = about
        for folder in folders:
            place = place[folder]
        place[last] = value
    return {**files, "cell.json": json.dumps(about).encode()}


def _with_searches(files: dict[str, bytes], data: bytes) -> dict[str, bytes]:
    """Replace the table, and the digest that vouches for it."""
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return _about({**files, "searches.parquet": data}, {"files": {"searches.parquet": {"blake2b": digest}}})


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def test_a_sound_cell_comes_back_as_it_was(event: CellFinished) -> None:
    tables = CellTables.of(event)
    cell = _read(tables.files(), event.cell.key)
    assert (cell.info, cell.content, cell.eligible) == (event.cell, event.content, 20)
    assert pa.Table.from_pylist(cell.rows, schema=None)["loss"].to_pylist() == [0.25, 0.5]
    assert [row["z"] for row in cell.rows] == tables.searches["z"].to_pylist()


def test_what_was_measured_before_the_cell_was_whole_is_left_out(event: CellFinished) -> None:
    measures = _read(CellTables.of(event).files(), event.cell.key).measures
    assert measures["metric"].tolist() == ["sparsity", "sparsity"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layout": 2}, "layout 2"),
        ({"content": {}}, "protocol version None"),
        ({"content__protocol": 99}, "protocol version 99"),
        ({"content__seed": 43}, "not the digest"),
        ({"content__seed": [[]] * 3}, "not the digest"),
        ({"cell__searcher": "lore"}, "another cell"),
        ({"cell__dataset": "wine[x=1]"}, "another cell"),
        ({"cell__fold": 3}, "another cell"),
        ({"cell__constraints": True}, "another cell"),
        ({"cell__versions": {"searcher": "99"}}, "other versions"),
        ({"cell__key": "../../../etc/passwd"}, "not the digest"),
        ({"cell__model": 3}, "does not say which cell"),
        ({"cell__white_box": "no"}, "does not say which cell"),
        ({"cell__extra": 1}, "does not say which cell"),
        ({"eligible": "many"}, "does not say which cell"),
        ({"files": {}}, "cut off, damaged or replaced"),
        ({"files": None}, "does not say which cell"),
    ],
)
def test_claims_that_do_not_hold(event: CellFinished, changes: dict[str, Any], reason: str) -> None:
    files = _about(CellTables.of(event).files(), changes)
    with pytest.raises(UnfitCellError, match=reason):
        _read(files, event.cell.key)


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'"' + b"x" * 9, b"[" * 100_000])
def test_an_account_that_is_none(event: CellFinished, data: bytes) -> None:
    with pytest.raises(UnfitCellError, match=r"cell\.json"):
        _read({**CellTables.of(event).files(), "cell.json": data}, event.cell.key)


def test_a_table_that_was_cut_or_replaced(event: CellFinished) -> None:
    files = CellTables.of(event).files()
    with pytest.raises(UnfitCellError, match="cut off, damaged or replaced"):
        _read({**files, "searches.parquet": files["searches.parquet"][:-9]}, event.cell.key)


@pytest.mark.parametrize("data", [b"", b"PAR1 nothing PAR1", pickle.dumps(print)])
def test_a_table_that_is_no_parquet(event: CellFinished, data: bytes) -> None:
    with pytest.raises(UnfitCellError, match=r"searches\.parquet cannot be read"):
        _read(_with_searches(CellTables.of(event).files(), data), event.cell.key)


class TestTablesOfSomethingElse:
    def _refused(self, event: CellFinished, table: pa.Table, reason: str) -> None:
        files = _with_searches(CellTables.of(event).files(), _parquet(table))
        with pytest.raises(UnfitCellError, match=reason):
            _read(files, event.cell.key)

    def test_other_columns(self, event: CellFinished) -> None:
        self._refused(event, pa.table({"anything": [1]}), "other columns")

    def test_no_rows(self, event: CellFinished) -> None:
        self._refused(event, SEARCH_SCHEMA.empty_table(), "of another cell, or none")

    def test_another_cell(self, event: CellFinished) -> None:
        rows = [{**row, "cell_key": "0" * 32} for row in CellTables.of(event).searches.to_pylist()]
        self._refused(event, pa.Table.from_pylist(rows, schema=SEARCH_SCHEMA), "of another cell")

    @pytest.mark.parametrize(
        ("column", "value", "reason"),
        [
            ("point", 0, "point 0, repetition 0: it is there twice"),
            ("point", -1, "what no search writes"),
            ("status", "<script>", "column 'status'.*'<script>'"),
        ],
    )
    def test_strange_rows(self, event: CellFinished, column: str, value: Any, reason: str) -> None:
        rows = [{**row, column: value} for row in CellTables.of(event).searches.to_pylist()]
        self._refused(event, pa.Table.from_pylist(rows, schema=SEARCH_SCHEMA), reason)


def test_a_table_that_unpacks_to_too_much_is_not_unpacked(event: CellFinished, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrored_cell, "_MOST_VALUES", 10)
    with pytest.raises(UnfitCellError, match="unpacks to"):
        _read(CellTables.of(event).files(), event.cell.key)


def test_measures_of_another_cell(event: CellFinished) -> None:
    strange = replace(event, read_tables=lambda: (event.searches, _measures("0" * 32)))
    with pytest.raises(UnfitCellError, match="measures of another cell"):
        _read(CellTables.of(strange).files(), event.cell.key)


def test_the_account_names_the_whole_cell(event: CellFinished) -> None:
    assert json.loads(CellTables.of(event).files()["cell.json"])["cell"] == asdict(event.cell)
