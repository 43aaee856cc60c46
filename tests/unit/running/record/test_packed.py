"""A packed record holds what the record held, and what is not one is told from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.caches import cache_folder
from cfbench.errors import RecordError
from cfbench.record.machines import add_machines, read_machines
from cfbench.record.packed import TABLES, Packed, file_digest, pack_record
from cfbench.record.record import Record
from cfbench.record.record_digest import record_digest
from cfbench.record.unpacking import unpacked
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"searcher": {"name": "cogs", "population_size": 50}}
OTHER_KEY = "f" * 32
SKIPPED_KEY = "e" * 32


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def results(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> Path:
    """A record of two cells with searches, one of them failed later and one measured, and a skipped cell."""
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        record.adopt(info, CONTENT, 60, [make_row(0), make_row(1, status="timed_out")])
        values = {"metric": "k-robustness", "version": "1", "settings": "{}", "point": [0, 1], "repetition": 0}
        record.write_measures(info.key, pd.DataFrame({"cell_key": info.key, **values, "value": [0.5, None]}))
        other = replace(info, key=OTHER_KEY, dataset="productivity")
        record.adopt(other, CONTENT, 7, [make_row(3, cell_key=OTHER_KEY)])
        record.fail(other, CONTENT, "its worker died")
        record.skip(replace(info, key=SKIPPED_KEY), CONTENT, "it handles no constraints")
        add_machines(path, [{"processor": "abacus", "cores": "2"}])
    return path


def test_what_is_packed_comes_out_again(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
        summaries, measured = record.summaries(), record.measured()
    assert sorted(file.name for file in packed.iterdir()) == sorted([*TABLES, "packed.json"])
    with Record.open(packed) as again:
        assert again.summaries() == summaries
        assert {key: found for key, found in again.measured().items() if found} == {
            key: found for key, found in measured.items() if found
        }
        (key,) = (key for key, found in measured.items() if found)
        assert again.measures(key)["value"].tolist()[0] == 0.5
        assert again.path != packed
        assert read_machines(again.path) == [{"processor": "abacus", "cores": "2"}]
    assert record_digest(unpacked(packed)) == record_digest(results)


def test_a_folder_of_something_else_is_not_packed_into(results: Path, tmp_path: Path) -> None:
    before = record_digest(results)
    with (
        Record.open(results) as record,
        pytest.raises(RecordError, match=r"results holds cells, index\.log, .*and more"),
    ):
        pack_record(record, results)
    assert record_digest(results) == before
    assert not (results / "packed.json").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with (
        Record.open(results) as record,
        pytest.raises(RecordError, match=r"mine holds thesis\.tex, which is no packed"),
    ):
        pack_record(record, tmp_path / "mine")


def test_the_same_record_gives_the_same_bytes(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        for name in ("one", "two"):
            pack_record(record, tmp_path / name)
    for file in (*TABLES, "packed.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_cells_whose_data_may_not_be_passed_on_are_packed_without_rows(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        pack_record(record, tmp_path / "packed", bare=lambda info: info.dataset == "productivity")
        summary = record.summaries()[OTHER_KEY]
    with Record.open(tmp_path / "packed") as again:
        (row,) = again.rows(OTHER_KEY)
        assert (row["x"], row["z"], row["candidates"], row["loss"]) == ([], None, [], 1.5)
        assert again.summaries()[OTHER_KEY] == summary
        assert len(again.searches(OTHER_KEY)) == 1
        kept = [row for key in again.summaries() if key != OTHER_KEY for row in again.rows(key)]
        assert all(row["x"] for row in kept)


def test_a_packed_record_is_not_written(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        pack_record(record, tmp_path / "packed")
    with pytest.raises(RecordError, match=r"is a packed record, which is read only; `cfbench merge .* makes one"):
        Record.open(tmp_path / "packed", write=True)


def test_damage_is_told_and_nothing_is_left_in_the_cache(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    cache = cache_folder("unpacked")
    data = bytearray((packed / "searches.parquet").read_bytes())
    data[100] ^= 1
    (packed / "searches.parquet").write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"searches\.parquet is damaged: its digest is not the one in packed\.json"):
        Record.open(packed)
    assert list(cache.iterdir()) == []
    (packed / "searches.parquet").unlink()
    with pytest.raises(RecordError, match=r"searches\.parquet cannot be read: No such file"):
        Record.open(packed)
    (packed / "packed.json").write_text("[]")
    with pytest.raises(RecordError, match=r"packed\.json is damaged"):
        Record.open(packed)


def reseal(packed: Path, name: str, edit: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of a file and its digest, as somebody who makes results up would."""
    table = pq.read_table(packed / name)
    rows = table.to_pylist()
    edit(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), packed / name)
    about = json.loads((packed / "packed.json").read_text())
    about["files"][name] = file_digest((packed / name).read_bytes())
    (packed / "packed.json").write_text(json.dumps(about))


@pytest.mark.parametrize("name", TABLES)
def test_a_file_that_changed_after_it_was_unpacked_is_noticed(results: Path, tmp_path: Path, name: str) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    Record.open(packed).close()
    whole = (packed / name).read_bytes()
    (packed / name).write_bytes(whole[:-1])
    with pytest.raises(RecordError, match=rf"{name} is damaged: its digest"):
        Record.open(packed)
    (packed / name).unlink()
    with pytest.raises(RecordError, match=rf"{name} cannot be read"):
        Record.open(packed)


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (TABLES[0], lambda rows: rows.append(rows[0]), "names a cell twice"),
        (TABLES[0], lambda rows: rows[1].update(key="0" * 32), "says of cell 0000.* what belongs to another"),
        (TABLES[1], lambda rows: rows[0].update(cell_key="0" * 32), "rows of cell 0000.*, which has no searches there"),
        (TABLES[1], lambda rows: rows.append(rows[0]), "does not hold the rows of each cell together"),
        (TABLES[1], lambda rows: rows.insert(0, rows[0]), "point 0, repetition 0: it is there twice"),
        (TABLES[1], lambda rows: rows[1].update(status="bogus"), "point 1, repetition 0: column 'status'"),
        (TABLES[1], lambda rows: rows[1].update(wall_seconds=-1.0), "point 1, repetition 0: column 'wall_seconds'"),
        (TABLES[2], lambda rows: rows.append(rows[0]), "no metric gives: it holds a measure of a search twice"),
        (TABLES[2], lambda rows: rows[0].update(point=-1), "no metric gives: .*below 0"),
    ],
)
def test_rows_that_no_search_gives_are_named(
    results: Path, tmp_path: Path, name: str, edit: Callable[[list[dict[str, Any]]], None], fault: str
) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    reseal(packed, name, edit)
    with pytest.raises(RecordError, match=rf"{name} .*{fault}"):
        Record.open(packed)


def test_a_damaged_copy_in_the_cache_is_named_with_the_packed_record(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    (table,) = unpacked(packed).glob(f"cells/ff/{OTHER_KEY}.parquet")
    table.write_bytes(b"")
    with Record.open(packed) as record:
        assert record.rows(OTHER_KEY) == []
        assert (record.origin, record.path) == (packed, unpacked(packed))
        assert record.problems == [
            f"{packed}: its copy in your cache is damaged; remove {unpacked(packed)}, and it is made anew"
        ]


def test_a_cell_that_cannot_be_read_is_left_out_and_named(results: Path, tmp_path: Path) -> None:
    (results / "cells" / "ff" / f"{OTHER_KEY}.parquet").write_bytes(b"PAR1")
    with Record.open(results) as record:
        assert pack_record(record, tmp_path / "packed") == Packed(2, (OTHER_KEY,))
        assert f"{OTHER_KEY}.parquet cannot be read" in record.problems[0]
    with Record.open(tmp_path / "packed") as again:
        assert OTHER_KEY not in again.summaries()


def test_other_versions_are_refused(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    about = json.loads((packed / "packed.json").read_text())
    (packed / "packed.json").write_text(json.dumps({**about, "protocol": 99}))
    with pytest.raises(RecordError, match="a packed record of protocol version 99"):
        Record.open(packed)
