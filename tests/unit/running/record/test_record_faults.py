"""Kills and damaged files: no finished search is lost, and each is told how to go on."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import cfbench
from cfbench.errors import RecordError
from cfbench.record.record import Record
from cfbench.record.record_digest import record_digest
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"a": 1}


# ---------------------------------------------------------------- kills


def test_kills_at_any_moment_lose_no_finished_search(
    tmp_path: Path, small_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    path, rng = tmp_path / "killed", random.Random(3)
    wanted = [(point, repetition) for point in range(40) for repetition in range(3)]
    confirmed: set[tuple[int, int]] = set()
    for _ in range(10):
        writer = start_writer(path)
        assert writer.opening == "open"
        done = Record.open(path).done(info.key).keys()
        assert confirmed <= done
        asked = [search for search in wanted if search not in done][:15]
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
            for search in set(wanted) - record.done(info.key).keys():
                record.append(small_row(*search))
            record.finish(info, CONTENT, 9)
            assert record.problems == []
    assert len(confirmed) > 10
    assert record_digest(path) == record_digest(undisturbed)
    assert Record.open(path).summaries() == Record.open(undisturbed).summaries()


@pytest.mark.parametrize("state", ["table replaced", "index written", "both"])
def test_a_compaction_that_a_kill_cut_short_is_ended(path: Path, make_row: MakeRow, info: CellInfo, state: str) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(0))
        record.finish(info, CONTENT, 9)
        old_index = (path / "index.log").read_bytes()
        record.append(make_row(1))
        journal = path / "journal" / f"{info.key}.log"
        old_journal = journal.read_bytes()
        summary = record.finish(info, CONTENT, 9)
    journal.write_bytes(old_journal)
    if state != "index written":
        (path / "index.log").write_bytes(old_index if state == "table replaced" else b"")
    assert Record.open(path).done(info.key) == {(0, 0): "found", (1, 0): "found"}
    assert len(Record.open(path).searches(info.key)) == 2
    with Record.open(path, write=True) as record:
        assert record.summaries() == {info.key: summary}
        assert record.pending() == set()
        assert record.problems == []
    assert not journal.exists()


def test_a_journal_with_more_than_the_table_stays_and_is_pending(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(0))
        record.finish(info, CONTENT, 9)
        record.append(make_row(1))
    with Record.open(path, write=True) as record:
        assert record.pending() == {info.key}
        assert record.summaries()[info.key].searches == 1
        assert record.finish(info, CONTENT, 9).searches == 2
        assert record.pending() == set()


def test_a_journal_torn_at_any_byte_loses_its_last_search_only(path: Path, small_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        for point in range(3):
            record.append(small_row(point, 0))
    journal = path / "journal" / f"{info.key}.log"
    whole = journal.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    record = Record.open(path)
    for length in range(last, len(whole)):
        journal.write_bytes(whole[:length])
        assert record.done(info.key).keys() == {(0, 0), (1, 0)}
    assert record.problems == []
    for length in (last, last + 1, len(whole) - 1):
        journal.write_bytes(whole[:length])
        with Record.open(path, write=True) as record:
            record.append(small_row(2, 0))
        assert journal.read_bytes() == whole


# ---------------------------------------------------------------- damaged files


def test_a_damaged_line_of_a_journal_runs_again_and_the_others_stay(
    path: Path, small_row: MakeRow, info: CellInfo
) -> None:
    with Record.open(path, write=True) as record:
        for point in range(3):
            record.append(small_row(point, 0))
    journal = path / "journal" / f"{info.key}.log"
    damaged = bytearray(journal.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    journal.write_bytes(damaged)
    reader = Record.open(path)
    assert reader.done(info.key).keys() == {(0, 0), (2, 0)}
    assert len(reader.problems) == 1
    assert str(journal) in reader.problems[0]
    assert "line 2" in reader.problems[0]
    assert journal.read_bytes() == damaged  # a reader repairs nothing
    with Record.open(path, write=True) as record:
        assert record.done(info.key).keys() == {(0, 0), (2, 0)}
        record.append(small_row(1, 0))
        assert record.finish(info, CONTENT, 9).searches == 3
    assert Record.open(path).problems == []


def test_lines_that_are_sound_and_no_rows_are_reported(path: Path, small_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.append(small_row(0, 0))
        record.append(small_row(0, 0) | {"cell_key": "f" * 32})
    journal, other = path / "journal" / f"{info.key}.log", path / "journal" / f"{'f' * 32}.log"
    journal.write_bytes(journal.read_bytes() + other.read_bytes() + b"9 cbf43926 123456789\n")
    reader = Record.open(path)
    assert reader.done(info.key).keys() == {(0, 0)}
    assert ["belongs to cell ffff" in reader.problems[0], "not a search's row" in reader.problems[1]] == [True, True]


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "foreign", "another cell", "a directory", "deleted"])
def test_a_damaged_table_runs_its_cell_again_and_nothing_else(
    path: Path, make_row: MakeRow, info: CellInfo, two_cells: tuple[Path, Path], damage: str
) -> None:
    table, other = two_cells
    data = table.read_bytes()
    damaged = {
        "cut": data[:-30],
        "emptied": b"",
        "flipped": bytes([data[0], data[1] ^ 8, *data[2:]]),
        "foreign": b"PAR1",
        "another cell": other.read_bytes(),
    }
    table.unlink()
    if damage == "a directory":
        table.mkdir()
    elif damage != "deleted":
        table.write_bytes(damaged[damage])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert set(cfbench.load_record(path)["cell_key"]) == {"f" * 32}
    assert [str(table) in str(warning.message) for warning in caught] == [True] * (damage != "deleted")
    with Record.open(path, write=True) as record:
        assert record.done(info.key) == {}
        assert len(record.done("f" * 32)) == 3
        assert len(record.searches(info.key)) == 0
        assert [str(table) in problem and "runs again" in problem for problem in record.problems] == [True]
        for point in range(3):
            record.append(make_row(point))
        assert record.finish(info, CONTENT, 9).searches == 3
    reader = Record.open(path)
    assert len(reader.done(info.key)) == 3
    assert table.read_bytes() == data
    assert reader.problems == []
    assert list(reader.summaries()) == [info.key, "f" * 32]
    assert table.with_name(f"{table.name}.damaged").exists() == (damage != "deleted")


def test_a_table_that_may_not_be_read_is_neither_damaged_nor_run_again(
    path: Path, info: CellInfo, make_row: MakeRow, two_cells: tuple[Path, Path]
) -> None:
    table, _ = two_cells
    away = table.rename(path / "away")
    table.symlink_to(table)  # refused to everybody, root included
    reader = Record.open(path)
    assert len(reader.searches(info.key)) == 0
    assert reader.done(info.key) == {}
    words = "cannot be read (Too many levels of symbolic links); what it holds is left out, and stays as it is"
    assert reader.problems == [f"{table} {words}"]
    with Record.open(path, write=True) as record:
        for ask in (record.done, record.searches, lambda key: record.forget(key, {"found"})):
            with pytest.raises(RecordError, match="cannot be read: Too many levels of symbolic links"):
                ask(info.key)
        record.append(make_row(0))
        with pytest.raises(RecordError, match="cannot be read"):
            record.finish(info, CONTENT, 9)
        assert record.problems == []
    table.unlink()
    away.rename(table)
    assert len(Record.open(path).done(info.key)) == 3
    assert [one.name for one in table.parent.iterdir()] == [table.name]


def test_copies_of_damaged_tables_are_all_kept(
    path: Path, info: CellInfo, make_row: MakeRow, two_cells: tuple[Path, Path]
) -> None:
    table, _ = two_cells
    for number in range(3):
        table.write_bytes(b"damage %d" % number)
        with Record.open(path, write=True) as record:
            record.append(make_row(number))
            record.finish(info, CONTENT, 9)
    copies = [table.with_name(f"{table.name}.damaged{suffix}") for suffix in ("", "-2", "-3")]
    assert [copy.read_bytes() for copy in copies] == [b"damage 0", b"damage 1", b"damage 2"]
    assert Record.open(path).done(info.key).keys() == {(2, 0)}


@pytest.mark.parametrize("damage", ["deleted", "emptied", "first line", "garbage", "torn"])
def test_the_index_is_made_again_from_the_tables(
    path: Path, info: CellInfo, two_cells: tuple[Path, Path], damage: str
) -> None:
    index = path / "index.log"
    whole, before = index.read_bytes(), Record.open(path).summaries()
    if damage == "deleted":
        index.unlink()
    else:
        flipped = whole.replace(b'"credit"', b'"debits"', 1)
        index.write_bytes({"emptied": b"", "first line": flipped, "garbage": b"\x00\n" * 9, "torn": whole[:-9]}[damage])
    left = index.read_bytes() if damage != "deleted" else b""
    reader = Record.open(path)
    assert reader.summaries() == before
    assert len(reader.done(info.key)) == 3
    assert (index.read_bytes() if index.exists() else b"") == left
    with Record.open(path, write=True) as record:
        assert record.summaries() == before
        assert bool(record.problems) == (damage in {"first line", "garbage"})
    assert sorted(index.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert Record.open(path).problems == []


@pytest.mark.parametrize("missing", ["seconds", "mark", "searches", "info"])
def test_a_line_that_lacks_something_is_read_from_its_table(
    path: Path, info: CellInfo, two_cells: tuple[Path, Path], missing: str
) -> None:
    from cfbench.record.index import Index

    before = Record.open(path).summaries()
    index = Index(path / "index.log", pytest.fail)
    line = index.get(info.key)
    assert line is not None
    index.put(info.key, {name: value for name, value in line.items() if name not in ("key", missing)})
    reader = Record.open(path)
    assert reader.summaries() == before
    assert "not understood" in reader.problems[0]
    Record.open(path, write=True).close()
    assert Record.open(path).summaries() == before


def test_the_digest_of_a_damaged_record_is_an_error(path: Path, two_cells: tuple[Path, Path]) -> None:
    two_cells[0].write_bytes(b"")
    with pytest.raises(RecordError, match=two_cells[0].name):
        record_digest(path)
