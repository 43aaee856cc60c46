"""A packed record holds what the record held, and what is not one is told from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfbench.errors import RecordError
from cfbench.events import CellInfo
from cfbench.harness.store.machines import add_machines, read_machines
from cfbench.harness.store.packed import TABLES, pack_record, unpacked
from cfbench.harness.store.record import Record
from cfbench.harness.store.record_digest import record_digest

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
    data = bytearray((packed / "searches.parquet").read_bytes())
    data[100] ^= 1
    (packed / "searches.parquet").write_bytes(bytes(data))
    with pytest.raises(RecordError, match=r"searches\.parquet is damaged: its digest is not the one in packed\.json"):
        Record.open(packed)
    assert list((tmp_path / "cache" / "unpacked").iterdir()) == []
    (packed / "searches.parquet").unlink()
    with pytest.raises(RecordError, match=r"searches\.parquet cannot be read: No such file"):
        Record.open(packed)
    (packed / "packed.json").write_text("[]")
    with pytest.raises(RecordError, match=r"packed\.json is damaged"):
        Record.open(packed)


def test_other_versions_are_refused(results: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    with Record.open(results) as record:
        pack_record(record, packed)
    about = json.loads((packed / "packed.json").read_text())
    (packed / "packed.json").write_text(json.dumps({**about, "protocol": 99}))
    with pytest.raises(RecordError, match="a packed record of protocol version 99"):
        Record.open(packed)
