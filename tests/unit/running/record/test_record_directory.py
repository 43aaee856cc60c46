"""Directories that are records, of this version or another, and those that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cfbench
from cfbench.errors import RecordError
from cfbench.record.record import Record
from cfbench.record.record_digest import record_digest
from cfbench.registry.events import CellInfo


def test_another_version_is_refused_with_both_named(path: Path, two_cells: tuple[Path, Path]) -> None:
    (path / "record.json").write_text('{"protocol": 7, "schema": 1}')
    for write in (False, True):
        with pytest.raises(RecordError, match=r"protocol version 7.*this cfbench has protocol version 1.*--results"):
            Record.open(path, write=write)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "null", "[" * 100_000])
def test_a_damaged_version_is_refused_with_the_way_to_mend_it(path: Path, content: str) -> None:
    Record.open(path, write=True).close()
    (path / "record.json").write_text(content)
    with pytest.raises(RecordError, match=r'record.json is damaged.*put \{"protocol": 1, "schema": 1\}') as error:
        Record.open(path, write=True)
    mended = str(error.value).split("put ")[1].split(" into")[0]
    (path / "record.json").write_text(mended)
    Record.open(path, write=True).close()
    assert json.loads(mended) == {"protocol": 1, "schema": 1}


def test_a_directory_with_other_things_is_left_untouched(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(RecordError, match=r"holds other things \(thesis.tex\).*untouched.*--results"):
        Record.open(path, write=True)
    with pytest.raises(RecordError, match="there is no record in"):
        Record.open(path)
    assert [entry.name for entry in path.iterdir()] == ["thesis.tex"]


def test_a_directory_with_a_tracking_store_may_become_a_record(path: Path) -> None:
    path.mkdir()
    for name in ("mlflow.db", "mlflow.db-wal", "tracking.json", ".gitignore", "lock"):
        (path / name).touch()
    Record.open(path, write=True).close()
    assert (path / "record.json").exists()


@pytest.mark.parametrize("write", [False, True])
def test_a_file_is_no_record(tmp_path: Path, write: bool) -> None:
    file = tmp_path / "results.csv"
    file.write_text("a,b")
    with pytest.raises(RecordError, match=r"results.csv is a file.*--results"):
        Record.open(file, write=write)
    with pytest.raises(RecordError, match="--results"):
        Record.open(file / "deeper", write=write)
    assert file.read_text() == "a,b"


def test_reading_where_there_is_nothing_creates_nothing(path: Path) -> None:
    for read in (Record.open, cfbench.load_record, record_digest):
        with pytest.raises(RecordError, match=r"(?s)there is no record in .*: the folder does not exist.*cfbench run"):
            read(path)
    assert not path.exists()


def test_files_that_are_not_the_records_are_passed_over(
    path: Path, info: CellInfo, two_cells: tuple[Path, Path]
) -> None:
    (path / "cells" / "01" / "notes.txt").write_text("")
    (path / "cells" / "ff" / f"{info.key}.parquet").write_text("in the wrong folder")
    (path / "cells" / "README").write_text("")
    (path / "journal" / "notes.log").write_text("")
    with Record.open(path, write=True) as record:
        assert len(record.summaries()) == 2
        assert record.pending() == set()
        assert record.problems == []
