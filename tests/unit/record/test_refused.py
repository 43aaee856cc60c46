"""A disk that is full, and places that may not be written: what was there stays sound."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"a": 1}


@pytest.mark.slow
def test_a_full_disk_keeps_what_was_committed_and_the_next_run_goes_on(
    path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    Record.open(path, write=True).close()
    writer = start_writer(path, largest_file=(path / "record.db").stat().st_size + 4096)
    answers = [writer.ask("append", small_row(point, 0)) for point in range(40)]
    done = answers.count("done")
    assert 0 < done < 40
    assert answers[:done] == ["done"] * done
    for part in ("record.db cannot be written", "may be full", "safe in the record", "same command again"):
        assert part in answers[-1]
    writer.close()
    with Record.open(path, write=True) as record:
        assert record.done(info.key).keys() == {(point, 0) for point in range(done)}
        record.append_all(small_row(point, 0) for point in range(done, 40))
        assert record.finish(info, CONTENT, 9).searches == 40
        assert record.problems == []


@pytest.mark.slow
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


def test_a_pipe_in_the_records_place_is_refused_where_reading_it_would_wait(path: Path) -> None:
    path.mkdir()
    os.mkfifo(path / "record.db")
    for write in (False, True):
        with pytest.raises(RecordError, match=r"record\.db.*it is a pipe or a device, no file of a record"):
            Record.open(path, write=write)
