"""Kills, damage, deletion, network disks: no finished search is lost, and the user is told how to go on."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.digests import digest_of
from cfbench.errors import RecordError
from cfbench.record import database
from cfbench.record.merge import merge_records
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import damage, execute, forge, record_digest

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"a": 1}
OTHER = "f" * 32


def journal_mode(path: Path) -> str:
    return str(execute(path, "PRAGMA journal_mode")[0][0])


# ---------------------------------------------------------------- kills and power cuts


@pytest.mark.slow
def test_kills_at_any_moment_lose_no_finished_search(
    tmp_path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    path, rng = tmp_path / "killed", random.Random(3)
    wanted = [(point, repetition) for point in range(20) for repetition in range(3)]
    confirmed: set[tuple[int, int]] = set()
    for _ in range(6):
        writer = start_writer(path)
        assert writer.opening == "open"
        done = Record.open(path).done(info.key).keys()
        assert confirmed <= done
        asked = [search for search in wanted if search not in done][:12]
        for number, search in enumerate(asked):
            writer.send("append", small_row(*search))
            if number % 3 == 2:
                writer.send("finish", asdict(info))
        answers = [writer.answer() for _ in range(rng.randrange(8))]
        time.sleep(rng.random() / 100)  # whatever the moment, what follows has to hold
        writer.process.kill()
        while answer := writer.answer():
            answers.append(answer)
        commands = [kind for number, search in enumerate(asked) for kind in [search, None][: 1 + (number % 3 == 2)]]
        confirmed |= {search for search, answer in zip(commands, answers, strict=False) if search and answer == "done"}
        frame = Record.open(path).searches(info.key)
        assert confirmed <= set(zip(frame["point"], frame["repetition"], strict=True))
        assert not frame.duplicated(["point", "repetition"]).any()
    undisturbed = tmp_path / "undisturbed"
    for directory in (path, undisturbed):
        with Record.open(directory, write=True) as record:
            record.append_all(small_row(*search) for search in wanted if search not in record.done(info.key))
            record.finish(info, CONTENT, 40)
            assert record.problems == []
    assert confirmed
    assert record_digest(path) == record_digest(undisturbed)
    assert Record.open(path).summaries() == Record.open(undisturbed).summaries()


def opened_done(path: Path, key: str) -> set[tuple[int, int]]:
    """Return the searches of a cell; none if the tables were not made."""
    if execute(path, "SELECT count(*) FROM sqlite_master") == [(0,)]:
        with pytest.raises(RecordError, match="there is no record in"):
            Record.open(path)
        return set()
    return set(Record.open(path).done(key))


def test_a_power_cut_leaves_the_commits_before_it(path: Path, small_row: MakeRow, info: CellInfo) -> None:
    """The log is cut at any place, as a disk without power leaves it: whole commits are there, in their order."""
    with Record.open(path, write=True) as record:
        for point in range(6):
            record.append(small_row(point, 0))
        cut = path.with_name("cut")
        cut.mkdir()
        for name in ("record.db", "record.db-wal"):
            shutil.copyfile(path / name, cut / name)
    log = (cut / "record.db-wal").read_bytes()
    seen = []
    for length in (*sorted(random.Random(1).sample(range(len(log)), 12)), len(log)):
        (cut / "record.db-shm").unlink(missing_ok=True)
        (cut / "record.db-wal").write_bytes(log[:length])
        done = opened_done(cut, info.key)
        assert done == {(point, 0) for point in range(len(done))}
        seen.append(len(done))
    assert seen == sorted(seen)
    assert seen[-1] == 6


def test_a_kill_before_the_tables_are_made_leaves_a_directory_that_becomes_a_record(path: Path) -> None:
    path.mkdir()
    for content in (b"", None):
        if content is None:
            execute(path, "PRAGMA journal_mode = WAL")
        else:
            (path / "record.db").write_bytes(content)
        with pytest.raises(RecordError, match="there is no record in"):
            Record.open(path)
    Record.open(path, write=True).close()
    assert Record.open(path).summaries() == {}


@pytest.mark.slow
def test_what_a_killed_run_leaves_is_read_and_the_next_run_ends_it(
    path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    writer = start_writer(path)
    assert writer.ask("append", small_row(0, 0)) == "done"
    writer.process.send_signal(signal.SIGKILL)
    writer.process.wait()
    assert (path / "record.db-wal").stat().st_size > 0
    assert Record.open(path).done(info.key) == {(0, 0): "found"}
    copy = path.with_name("copy")
    copy.mkdir()
    for name in ("record.db", "record.db-wal"):  # somebody copies the results without the shared memory
        shutil.copyfile(path / name, copy / name)
    assert Record.open(copy).done(info.key) == {(0, 0): "found"}
    Record.open(path, write=True).close()
    assert sorted(file.name for file in path.iterdir()) == ["lock", "record.db"]
    assert journal_mode(path) == "delete"
    assert Record.open(path).done(info.key) == {(0, 0): "found"}


READ = """
import os, sys
import cfbench.problem.outcome
from cfbench.record.store import Record
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
print(sorted(Record.open(sys.argv[1]).done(sys.argv[2])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("state", ["ended", "killed", "killed, without shared memory", "killed, rollback journal"])
def test_a_read_only_folder_is_read(
    open_folder: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any], state: str
) -> None:
    path = open_folder / "results"
    if state == "killed, rollback journal":
        with Record.open(path, write=True) as record:
            record.append(small_row(0, 0))
        hot = sqlite3.connect(path / "record.db", isolation_level=None)
        hot.execute("PRAGMA cache_size = 1")
        hot.execute("BEGIN")
        hot.execute("UPDATE searches SET reason = 'half', digest = x'00'")
        hot.execute(
            "CREATE TABLE t AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9999) SELECT i FROM n"
        )
        for name in ("record.db", "record.db-journal"):
            shutil.copyfile(path / name, open_folder / name)
        hot.close()
        for name in ("record.db", "record.db-journal"):
            (open_folder / name).rename(path / name)
    else:
        writer = start_writer(path)
        assert writer.ask("append", small_row(0, 0)) == "done"
        if state == "ended":
            writer.end()
            writer.process.wait()
        else:
            writer.process.kill()
            writer.process.wait()
        if state.endswith("memory"):
            (path / "record.db-shm").unlink()
    before = {file.name: file.read_bytes() for file in path.iterdir() if file.suffix != ".db-shm"}
    path.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), info.key], capture_output=True, text=True, check=False
    )
    path.chmod(0o755)
    assert done.stdout == "[(0, 0)]\n", done.stderr
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.suffix != ".db-shm"} == before


# ---------------------------------------------------------------- network disks


def test_where_processes_cannot_share_memory_a_rollback_journal_serves(
    path: Path, make_row: MakeRow, info: CellInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        database, "_VFS", "unix-dotfile"
    )  # SQLite's layer that refuses WAL, since it has no shared memory
    with Record.open(path, write=True) as record:
        assert record._database.connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"
        assert record._database.connection.execute("PRAGMA synchronous").fetchone()[0] == 2
        for point in range(3):
            record.append(make_row(point))
            assert len(Record.open(path).done(info.key)) == point + 1
        record.finish(info, CONTENT, 9)
    monkeypatch.undo()
    assert Record.open(path).summaries()[info.key].searches == 3


@pytest.mark.parametrize(("kind", "mode"), [("ext4", "wal"), ("nfs4", "delete"), ("fuse.sshfs", "delete"), ("", "wal")])
def test_network_disks_are_known_by_their_type(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, mode: str
) -> None:
    mounts = tmp_path / "mountinfo"
    if kind:
        lines = ["22 1 0:20 / / rw - ext4 /dev/sda rw", f"23 22 0:21 / {tmp_path} rw shared:2 - {kind} server:/x rw"]
        mounts.write_text("\n".join([*lines, f"24 22 0:22 / {tmp_path}-other rw - tmpfs tmpfs rw\n"]))
    monkeypatch.setattr(database, "MOUNTS", mounts)
    with Record.open(path, write=True) as record:
        assert record._database.connection.execute("PRAGMA journal_mode").fetchone()[0] == mode
    assert journal_mode(path) == "delete"


def test_a_reader_at_the_end_of_a_run_keeps_the_log_and_loses_nothing(
    path: Path, make_row: MakeRow, info: CellInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_AT_END", 0.0)
    with Record.open(path, write=True) as record:
        record.append(make_row(0))
        reader = Record.open(path)
        reading = reader._database.connection.execute("SELECT * FROM study")  # in the middle of a statement
        reading.fetchone()
    assert len(Record.open(path).done(info.key)) == 1
    reading.close()
    reader.close()
    Record.open(path, write=True).close()
    assert journal_mode(path) == "delete"


# ---------------------------------------------------------------- deleted or damaged


@pytest.mark.parametrize("what", ["the file", "the directory", "replaced"])
def test_a_record_that_is_deleted_while_it_is_written_is_told(
    path: Path, make_row: MakeRow, info: CellInfo, what: str
) -> None:
    record = Record.open(path, write=True)
    record.append(make_row(0))
    if what == "the directory":
        shutil.rmtree(path)
    else:
        (path / "record.db").unlink()
    if what == "replaced":
        (path / "record.db").touch()
    with pytest.raises(RecordError, match=r"record\.db was deleted or replaced while this process wrote it"):
        record.append(make_row(1))
    record.close()  # it was said once
    assert path.exists() == (what != "the directory")


def test_a_record_that_is_deleted_after_the_last_search_is_told_at_the_end(path: Path, make_row: MakeRow) -> None:
    record = Record.open(path, write=True)
    record.append(make_row(0))
    shutil.rmtree(path)
    with pytest.raises(RecordError, match="was deleted or replaced"):
        record.close()


@pytest.mark.parametrize("is_forged", [False, True])
def test_a_damaged_search_runs_again_and_nothing_else(
    path: Path, make_row: MakeRow, info: CellInfo, two_cells: tuple[str, str], is_forged: bool
) -> None:
    whole = record_digest(path)
    where = f"cell_key = '{info.key}' AND point = 1"
    if is_forged:
        forge(path, "searches", where, x=b"\0" * 9)
    else:
        damage(path, "searches", where, "reason")
    named = f"searches of cell {info.key}, point 1, repetition 0: it is damaged"
    with pytest.warns(UserWarning, match=named):
        frame = cfbench.load_record(path)
    assert len(frame) == 5
    with pytest.raises(RecordError, match=named):
        record_digest(path)
    with Record.open(path, write=True) as record:
        if not is_forged:  # `done` compares digests alone, and leaves the rest to the reading of rows
            assert record.done(info.key).keys() == {(0, 0), (2, 0)}
        assert len(record.done(OTHER)) == 3
        assert len(record.rows(info.key)) == 2
        assert [named in problem and "runs again" in problem for problem in record.problems] == [True]
        record.append(make_row(1))
        assert record.finish(info, CONTENT, 9).searches == 3
    assert record_digest(path) == whole
    assert Record.open(path).problems == []


def test_a_damaged_summary_is_left_out_and_made_again(path: Path, info: CellInfo, two_cells: tuple[str, str]) -> None:
    whole = Record.open(path).summaries()
    damage(path, "cells", f"key = '{info.key}'")
    reader = Record.open(path)
    assert reader.summaries().keys() == {OTHER}
    assert f"cell {info.key} is damaged (its digest does not fit what it holds)" in reader.problems[0]
    with Record.open(path, write=True) as record:
        assert len(record.done(info.key)) == 3
        record.finish(info, CONTENT, 9)
    assert Record.open(path).summaries() == whole


def test_searches_that_are_gone_run_again(path: Path, info: CellInfo, two_cells: tuple[str, str]) -> None:
    execute(path, "DELETE FROM searches WHERE cell_key = ? AND point = 0", info.key)
    assert Record.open(path).done(info.key).keys() == {(1, 0), (2, 0)}


@pytest.mark.slow
def test_flipped_bytes_anywhere_are_survived_by_everything_else(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    """A byte is flipped: what can be read is right, everything else is named, and a merge ends without an error."""
    keys = [f"{number:032x}" for number in range(40)]
    with Record.open(path, write=True) as record:
        for key in keys:
            record.adopt(replace(info, key=key), CONTENT, 9, [make_row(point, cell_key=key) for point in range(5)])
    whole, data = Record.open(path).summaries(), (path / "record.db").read_bytes()
    rows = {key: Record.open(path).rows(key) for key in keys}
    rng, lost = random.Random(4), 0
    for number in range(40):
        flipped = bytearray(data)
        place = rng.randrange(100, len(data))
        flipped[place] ^= 1 << rng.randrange(8)
        (path / "record.db").write_bytes(flipped)
        reader: Record | None = None
        with contextlib.suppress(RecordError):
            reader = Record.open(path)
        if reader is None:  # the first page
            lost += 1
            continue
        found = reader.summaries()
        read = {key: reader.rows(key) for key in keys}
        assert found.items() <= whole.items()
        missing = [key for key in keys if read[key] != rows[key]]
        assert all(row in rows[key] for key in missing for row in read[key])
        assert bool(reader.problems) or (not missing and found == whole) or _only_an_index_is_wrong(path)
        reader.close()
        if number % 8 == 0:
            report = merge_records([path], path.with_name(f"saved-{number}"), mixed_models=True)
            assert report.conflicts or report.cells
    assert lost < 10
    (path / "record.db").write_bytes(data)


def _only_an_index_is_wrong(path: Path) -> bool:
    """Whether SQLite itself says that an index lacks rows: a row is there and is not found by its key."""
    try:
        return bool(execute(path, "PRAGMA integrity_check")[0][0] != "ok")
    except sqlite3.DatabaseError:
        return True


def everything(path: Path, *, write: bool) -> None:
    """Read a record, and raise what it reports."""
    with Record.open(path, write=write) as record:
        record.summaries()
        record.rows(OTHER)
        for problem in record.problems:
            raise RecordError(problem)


@pytest.mark.parametrize("damaged", ["cut", "first page", "foreign", "text"])
def test_a_file_that_is_no_whole_database_is_named_and_left_as_it_is(
    path: Path, two_cells: tuple[str, str], damaged: str
) -> None:
    file = path / "record.db"
    data = file.read_bytes()
    file.write_bytes(
        {"cut": data[:5000], "first page": b"\0" * 4096 + data[4096:], "foreign": b"", "text": b"a,b\n" * 50}[damaged]
    )
    if damaged == "foreign":
        file.unlink()
        execute(path, "CREATE TABLE notes (text)")
    before = file.read_bytes()
    for write in (False, True):
        with pytest.raises(RecordError, match=r"record\.db"):
            everything(path, write=write)
    assert file.read_bytes() == before or damaged == "cut"


def test_a_merge_takes_over_what_a_damaged_file_still_holds(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    names = {"dataset": "credit", "model": "random-forest", "searcher": "cogs", "objective": "none"}
    with Record.open(path, write=True) as record:
        for fold in range(60):
            content: dict[str, Any] = {axis: {"name": name, "settings": {}} for axis, name in names.items()}
            content |= {"constraints": True, "fold": fold}
            one = replace(info, key=digest_of(content), fold=fold, versions={})
            record.adopt(one, content, 9, [make_row(point, cell_key=one.key) for point in range(4)])
    (root,) = execute(path, "SELECT rootpage FROM sqlite_master WHERE name = 'cells'")[0]
    size = execute(path, "PRAGMA page_size")[0][0]
    data = bytearray((path / "record.db").read_bytes())
    leaf = int.from_bytes(data[(root - 1) * size + 8 :][:4], "big") if data[(root - 1) * size] == 5 else root
    places = data[(root - 1) * size + 12 : (root - 1) * size + 14]  # of an inner page: where its first child is named
    child = int.from_bytes(data[(root - 1) * size + int.from_bytes(places, "big") :][:4], "big")
    assert leaf != root, "a larger record is needed for a table of several pages"
    data[(child - 1) * size : child * size] = b"\xff" * size
    (path / "record.db").write_bytes(data)
    reader = Record.open(path)
    assert 0 < len(reader.summaries()) < 60
    assert "is damaged" in reader.problems[0]
    with pytest.raises(RecordError, match=r"cfbench merge .* --results NEW"), Record.open(path, write=True) as record:
        record.summaries()
    report = merge_records([path], path.with_name("new"))
    assert not report.complete
    with Record.open(path.with_name("new")) as saved:
        assert saved.summaries() == reader.summaries()


# ---------------------------------------------------------------- what is refused


def test_other_versions_are_refused_with_both_named(path: Path, two_cells: tuple[str, str]) -> None:
    execute(path, "PRAGMA user_version = 9")
    for write in (False, True):
        with pytest.raises(RecordError, match=r"protocol version 1, schema version 9; this cfbench has.*--results"):
            Record.open(path, write=write)
    execute(path, "PRAGMA user_version = 2")
    execute(path, "UPDATE study SET value = '7' WHERE name = 'protocol'")
    with pytest.raises(RecordError, match="protocol version 7"):
        Record.open(path)


def test_a_record_of_journals_and_tables_is_refused_with_the_way_to_pack_it(path: Path) -> None:
    (path / "journal").mkdir(parents=True)
    (path / "record.json").write_text('{"format": "cfbench record", "protocol": 1, "schema": 1}')
    before = sorted(path.rglob("*"))
    for write in (False, True):
        with pytest.raises(RecordError, match=rf"`cfbench pack --results {path} --output PACKED`.*cfbench merge"):
            Record.open(path, write=write)
    assert sorted(path.rglob("*")) == before


@pytest.mark.parametrize("text", ["", "{", "7"])
def test_a_damaged_description_of_a_machine_is_left_out_and_named(
    path: Path, two_cells: tuple[str, str], text: str
) -> None:
    machine = {"cores": "2"}
    with Record.open(path, write=True) as record:
        record.add_machines([machine])
    execute(path, "INSERT INTO machines VALUES (?, X'00')", text)
    with Record.open(path) as record:
        assert record.machines() == [machine]
        assert len(record.problems) == 1
