"""A disk that is full, and places that may not be written: what was there stays sound."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.machines import read_machines
from cfbench.record.record import Record
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"a": 1}


def test_a_full_disk_in_an_append_leaves_a_sound_journal(
    path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    writer = start_writer(path, largest_file=1500)
    answers = [writer.ask("append", small_row(point, 0)) for point in range(6)]
    done = answers.count("done")
    assert 0 < done < 6
    assert answers == ["done"] * done + [answers[-1]] * (6 - done)
    for part in (f"{info.key}.log", "full", "safe in the record", "same command again"):
        assert part in answers[-1]
    writer.close()
    with Record.open(path, write=True) as record:
        assert record.done(info.key).keys() == {(point, 0) for point in range(done)}
        for point in range(done, 6):
            record.append(small_row(point, 0))
        assert record.finish(info, CONTENT, 9).searches == 6
        assert record.problems == []


def test_a_full_disk_in_a_compaction_keeps_the_journal(
    path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    writer = start_writer(path, largest_file=2000)
    assert writer.ask("append", small_row(0, 0)) == "done"
    answer = writer.ask("finish", asdict(info))
    assert "full" in answer
    assert f"{info.key}.parquet" in answer
    assert writer.ask("append", small_row(1, 0)) == "done"
    writer.close()
    assert [file for file in path.rglob("*") if "draft" in file.name] == []
    with Record.open(path, write=True) as record:
        assert record.finish(info, CONTENT, 9).searches == 2


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user may enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="cfbench-record-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_without_write_permission_the_message_says_so(open_folder: Path, start_writer: Callable[..., Any]) -> None:
    # Permissions do not bind root: as root, the writer becomes the user "nobody".
    user = 65534 if os.geteuid() == 0 else 0
    results = open_folder / "results"
    Record.open(results, write=True).close()
    results.chmod(0o555)
    (results / "lock").chmod(0o444)
    open_folder.chmod(0o555)
    for place in (results, open_folder / "new"):
        opening = start_writer(place, user=user).opening
        assert str(place) in opening
        assert "Permission denied" in opening
        assert "--results" in opening
    results.chmod(0o755)


@pytest.mark.parametrize("name", ["record.json", "index.log", "machines.json", "cells"])
def test_a_pipe_in_a_records_place_is_refused_where_reading_it_would_wait(
    path: Path, small_row: MakeRow, info: CellInfo, name: str
) -> None:
    with Record.open(path, write=True) as record:
        record.append(small_row(0, 0))
        record.finish(info, CONTENT, 1)
    pipe = path / "cells" / info.key[:2] / f"{info.key}.parquet" if name == "cells" else path / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    problems: list[str] = []
    try:
        with Record.open(path) as record:
            record.summaries()
            if name == "cells":
                record.rows(info.key)
            problems += record.problems
            if name == "machines.json":
                read_machines(path)
    except RecordError as error:
        problems.append(str(error))
    (problem,) = problems
    assert str(pipe) in problem
    assert "it is a pipe or a device, no file of a record" in problem
