"""A packed record holds what the record held, and what is not one is told from it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.errors import RecordError
from cfbench.record import archive
from cfbench.record.archive import FILES, file_digest
from cfbench.record.frames import MEASURE_SCHEMA, SEARCH_SCHEMA
from cfbench.record.store import Packed, Record, pack_record
from cfbench.registry.events import CellInfo
from tests.databases import damage, record_digest

MakeRow = Callable[..., dict[str, Any]]
TABLES = tuple(FILES)
CONTENT = {"searcher": {"name": "cogs", "population_size": 50}}
OTHER_KEY = "f" * 32
SKIPPED_KEY = "e" * 32


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
        record.add_machines([{"processor": "abacus", "cores": "2"}])
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
        assert again.path == packed
        assert again.machines() == [{"processor": "abacus", "cores": "2"}]
    assert record_digest(packed) == record_digest(results)


def test_a_folder_of_something_else_is_not_packed_into(results: Path, tmp_path: Path) -> None:
    before = record_digest(results)
    with (
        Record.open(results) as record,
        pytest.raises(RecordError, match=r"results holds lock, record\.db, which is no packed"),
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
        assert replace(again.summaries()[OTHER_KEY], mark=summary.mark) == summary
        assert len(again.searches(OTHER_KEY)) == 1
        kept = [row for key in again.summaries() if key != OTHER_KEY for row in again.rows(key)]
        assert all(row["x"] for row in kept)


def test_a_packed_record_is_not_written(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        pack_record(record, tmp_path / "packed")
    with pytest.raises(RecordError, match=r"is a packed record, which is read only; `cfbench merge .* makes one"):
        Record.open(tmp_path / "packed", write=True)


def test_damage_is_told(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    data = bytearray((packed / "searches.parquet").read_bytes())
    data[100] ^= 1
    (packed / "searches.parquet").write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"searches\.parquet is damaged: its digest is not the one in packed\.json"):
        Record.open(packed)
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


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (TABLES[0], lambda rows: rows.append(rows[0]), "holds what no record holds .UNIQUE constraint failed"),
        (TABLES[0], lambda rows: rows[0].update(searches=None), "holds what no record holds .NOT NULL constraint"),
        (TABLES[1], lambda rows: rows[0].update(cell_key="0" * 32), "rows of cell 0000.*, which is not there"),
        (TABLES[1], lambda rows: rows.insert(0, rows[0]), "UNIQUE constraint failed"),
        (TABLES[2], lambda rows: rows.append(rows[0]), "UNIQUE constraint failed"),
        (TABLES[2], lambda rows: rows[0].update(cell_key="0" * 32), "rows of cell 0000"),
    ],
)
def test_rows_that_no_record_holds_are_named(
    results: Path, tmp_path: Path, name: str, edit: Callable[[list[dict[str, Any]]], None], fault: str
) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    reseal(packed, name, edit)
    with pytest.raises(RecordError, match=rf"{name} .*{fault}"):
        Record.open(packed)


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (TABLES[0], lambda rows: rows[0].update(searches=9), "its counts of searches differ"),
        (TABLES[1], lambda rows: rows[1].update(status="bogus"), "point 1, repetition 0: it is damaged .status cannot"),
        (TABLES[1], lambda rows: rows[1].update(wall_seconds=-1.0), "point 1, repetition 0: .*wall_seconds cannot be"),
        (TABLES[1], lambda rows: rows[1].update(candidates=b"1"), "point 1, repetition 0: .*candidates cannot be"),
    ],
)
def test_rows_that_no_search_gives_are_named_when_they_are_read(
    results: Path, tmp_path: Path, name: str, edit: Callable[[list[dict[str, Any]]], None], fault: str
) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    reseal(packed, name, edit)
    with Record.open(packed) as again:
        again.summaries()
        again.all_searches()
        assert re.search(fault, again.problems[0])


def test_a_cell_that_cannot_be_read_is_left_out_and_named(results: Path, tmp_path: Path) -> None:
    damage(results, "searches", f"cell_key = '{OTHER_KEY}'", "reason")
    with Record.open(results) as record:
        assert pack_record(record, tmp_path / "packed") == Packed(2, (OTHER_KEY,))
        assert f"searches of cell {OTHER_KEY}, point 3, repetition 0: it is damaged" in record.problems[0]
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


def test_a_terminal_is_told_where_reading_takes_long(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Record.open(results) as record:
        pack_record(record, tmp_path / "packed")
    Record.open(tmp_path / "packed").close()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(archive, "PATIENCE", -1.0)
    Record.open(tmp_path / "packed").close()
    assert capsys.readouterr().err == "", "no terminal"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    Record.open(tmp_path / "packed").close()
    assert f"reading the packed record {tmp_path / 'packed'}: 100 %" in capsys.readouterr().err


# ---------------------------------------------------------------- version 1


def test_a_part_of_the_first_published_record_is_read_as_it_was_packed() -> None:
    """Two cells and a skipped one, as cfbench 0.1 packed them; the expected values were read with pyarrow."""
    with Record.open(Path(__file__).parent / "version-1") as record:
        found, skipped = record.summaries()["1b69ae2bb7fb7796ee758002620f2343"], min(record.summaries())
        measured = {metric for metric, _, _ in record.measured()[found.info.key]}
        losses = record.measures(found.info.key).query("metric == 'loss'")["value"].tolist()
        assert record.summaries()[skipped].skipped.startswith("growing-spheres minimises the loss alone")
        assert record.problems == []
    assert (found.info.dataset, found.info.searcher, found.searches, found.statuses) == (
        "housing",
        "cogs",
        5,
        {"found": 5},
    )
    assert found.row_ids == (2, 3, 99, 157, 162)
    assert found.search_queries == 505_000
    assert len(measured) == 23
    assert [*found.loss] == losses
    assert losses[0] == 0.041662296186844805


def write_version_1(folder: Path, record: Record, edit: Callable[[dict[str, Any]], None] = lambda _: None) -> None:
    """Pack a record as cfbench 0.1 did, in parquet files written here from its rows."""
    folder.mkdir()
    cells, searches, measures = [], [], []
    for key, summary in sorted(record.summaries().items()):
        texts = {
            name: json.dumps(value) for name, value in (("info", asdict(summary.info)), ("content", summary.content))
        }
        notes = {"skipped": summary.skipped, "failure": summary.failure}
        cells.append({"key": key, **texts, "eligible": summary.eligible, **notes})
        for row in record.rows(key):
            pairs = [{"queries": queries, "loss": loss} for queries, loss in row["anytime"]]
            searches.append({**row, "anytime": pairs, "figures": list(row["figures"].items())})
        measures += record.measures(key).to_dict("records")
    names = ("key", "info", "content", "eligible", "skipped", "failure")
    schema = pa.schema([(name, pa.int64() if name == "eligible" else pa.string()) for name in names])
    rows = {TABLES[0]: cells, TABLES[1]: searches, TABLES[2]: measures}
    edit(rows)
    schemas = dict(zip(TABLES, (schema, SEARCH_SCHEMA, MEASURE_SCHEMA), strict=True))
    for name, listed in rows.items():
        pq.write_table(pa.Table.from_pylist(listed, schema=schemas[name]), folder / name)
    digests = {name: file_digest((folder / name).read_bytes()) for name in TABLES}
    about = {"format": "cfbench packed record", "protocol": 1, "schema": 1}
    (folder / "packed.json").write_text(json.dumps({**about, "machines": record.machines(), "files": digests}))


def test_a_packed_record_of_version_1_holds_the_same(results: Path, tmp_path: Path) -> None:
    with Record.open(results) as record:
        write_version_1(tmp_path / "old", record)
        with Record.open(tmp_path / "old") as old:
            assert old.summaries() == record.summaries()
            assert old.measured() == record.measured()
            assert {key: old.mark(key) for key in old.keys()} == {key: record.mark(key) for key in record.keys()}  # noqa: SIM118
            for key in record.summaries():
                assert old.rows(key) == record.rows(key)
                pd.testing.assert_frame_equal(old.measures(key), record.measures(key))
            assert old.machines() == record.machines()
            pack_record(old, tmp_path / "from-old")
        pack_record(record, tmp_path / "packed")
    assert record_digest(tmp_path / "old") == record_digest(results)
    for file in (*TABLES, "packed.json"):
        assert (tmp_path / "from-old" / file).read_bytes() == (tmp_path / "packed" / file).read_bytes()


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (lambda rows: rows[TABLES[0]].append(rows[TABLES[0]][0]), "UNIQUE constraint failed: cells.key"),
        (lambda rows: rows[TABLES[0]][1].update(key="0" * 32), "says of cell 0000.* what belongs to another"),
        (lambda rows: rows[TABLES[0]].pop(0), "rows of cell .*, which is not there"),
        (lambda rows: rows[TABLES[0]][0].update(eligible=-1), "cell .* holds what no cell can: column 'eligible'"),
        (
            lambda rows: rows[TABLES[0]][0].update(content="[]"),
            "cell .* holds what no cell can: .*content is a table",
        ),
        (lambda rows: rows[TABLES[1]].append(rows[TABLES[1]][0]), "point 0, repetition 0: it is there twice"),
        (lambda rows: rows[TABLES[1]].insert(0, rows[TABLES[1]][0]), "point 0, repetition 0: it is there twice"),
        (lambda rows: rows[TABLES[1]][1].update(status="bogus"), "point 1, repetition 0: column 'status'"),
        (lambda rows: rows[TABLES[2]][0].update(cell_key="0" * 32), "rows of cell 0000.*, which is not there"),
    ],
)
def test_what_no_search_gives_is_named_in_version_1(
    results: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], None], fault: str
) -> None:
    with Record.open(results) as record:
        write_version_1(tmp_path / "old", record, edit)
    with pytest.raises(RecordError, match=fault):
        Record.open(tmp_path / "old")


@pytest.mark.parametrize(
    "edit",
    [lambda rows: rows.pop(), lambda rows: rows.append(rows[0]), lambda rows: rows[0].update(point=9)],
    ids=["of a part of the searches", "of a search twice", "of a search that is not there"],
)
def test_measures_that_are_not_of_all_searches_are_left_out_of_version_1(
    results: Path, tmp_path: Path, edit: Callable[[list[Any]], None]
) -> None:
    with Record.open(results) as record:
        write_version_1(tmp_path / "old", record, lambda rows: edit(rows[TABLES[2]]))
    with Record.open(tmp_path / "old") as old:
        assert old.measured() == {}
        assert old.problems == []
