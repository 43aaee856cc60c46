"""A packed record holds what the record held, and what is not one is told from it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cfbench.errors import RecordError
from cfbench.record import archive
from cfbench.record.archive import FILES, Packed, file_digest, pack_record
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import damage, record_digest

MakeRow = Callable[..., dict[str, Any]]
TABLES = tuple(FILES)
CONTENT = {"searcher": {"name": "cogs", "population_size": 50}}
OTHER_KEY = "f" * 32
SKIPPED_KEY = "e" * 32
VERSION_1 = Path(__file__).parent / "version-1"


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
    (packed / "searches.parquet").write_bytes(data)
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
        (
            TABLES[1],
            lambda rows: rows[1].update(status="bogus"),
            "point 1, repetition 0: .*column .status.",
        ),
        (TABLES[1], lambda rows: rows[1].update(candidates=b"1"), "point 1, repetition 0: .*column .candidates."),
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
        for key in again.keys():  # noqa: SIM118
            again.rows(key)
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
    with Record.open(VERSION_1) as record:
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


def version_1(folder: Path, name: str, edit: Callable[[list[dict[str, Any]]], None]) -> Path:
    """Return that part of the first published record with other rows in one of its files."""
    shutil.copytree(VERSION_1, folder)
    reseal(folder, name, edit)
    return folder


def test_a_packed_record_of_version_1_is_packed_anew_with_the_same_content(tmp_path: Path) -> None:
    with Record.open(VERSION_1) as old:
        pack_record(old, tmp_path / "new")
        with Record.open(tmp_path / "new") as new:
            assert new.summaries() == old.summaries()
            assert new.measured() == old.measured()
            assert new.machines() == old.machines()
            for key in old.summaries():
                pd.testing.assert_frame_equal(new.measures(key), old.measures(key))
    assert record_digest(tmp_path / "new") == record_digest(VERSION_1)


@pytest.mark.parametrize(
    ("name", "edit", "fault"),
    [
        (TABLES[0], lambda rows: rows[0].update(key="0" * 32), "cell 0000.* its coordinates are those of cell"),
        (TABLES[0], lambda rows: rows.clear(), "rows of cell .*, which is not there"),
        (TABLES[0], lambda rows: rows[0].update(eligible=-1), "cell .* holds what no cell can: column 'eligible'"),
        (TABLES[0], lambda rows: rows[0].update(content="[]"), "cell .* holds what no cell can: column 'content'"),
        (TABLES[1], lambda rows: rows.append(rows[0]), "it is there twice"),
        (TABLES[2], lambda rows: rows[0].update(cell_key="0" * 32), "rows of cell 0000.*, which is not there"),
    ],
)
def test_what_no_search_gives_is_named_in_version_1(
    tmp_path: Path, name: str, edit: Callable[[list[dict[str, Any]]], None], fault: str
) -> None:
    with pytest.raises(RecordError, match=fault):
        Record.open(version_1(tmp_path / "old", name, edit))


@pytest.mark.parametrize(
    "edit",
    [lambda rows: rows.pop(0), lambda rows: rows.insert(0, rows[0]), lambda rows: rows[0].update(point=9)],
    ids=["of a part of the searches", "of a search twice", "of a search that is not there"],
)
def test_measures_that_are_not_of_all_searches_are_left_out_of_version_1(
    tmp_path: Path, edit: Callable[[list[Any]], None]
) -> None:
    with Record.open(VERSION_1) as whole, Record.open(version_1(tmp_path / "old", TABLES[2], edit)) as old:
        measured = {(key, metric) for key, metrics in whole.measured().items() for metric in metrics}
        assert len(measured - {(key, metric) for key, metrics in old.measured().items() for metric in metrics}) == 1
        assert old.problems == []
