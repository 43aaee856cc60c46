"""The record: what goes in comes out, it grows, it forgets what is to run again, and it is one record in any order."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cfbench
from cfbench.errors import RecordError
from cfbench.record.archive import pack_record
from cfbench.record.frames import SEARCH_SCHEMA
from cfbench.record.schema import AMOUNT, SEARCHES
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.databases import contents, execute, record_digest

MakeRow = Callable[..., dict[str, Any]]
CONTENT = {"searcher": {"name": "cogs", "population_size": 50}}


def searches(points: Iterable[int], repetitions: int = 2) -> list[tuple[int, int]]:
    return [(point, repetition) for point in points for repetition in range(repetitions)]


def test_a_search_is_there_when_append_returns(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(1, 0, "crashed"))
        record.append(make_row(0, 1))
        reader = Record.open(path)
        assert reader.done(info.key) == {(0, 1): "found", (1, 0): "crashed"}
        frame = reader.searches(info.key)
        assert list(frame.columns) == SEARCH_SCHEMA.names
        assert list(zip(frame["point"], frame["repetition"], strict=True)) == [(0, 1), (1, 0)]
        assert reader.summaries() == {}
        assert reader.pending() == {info.key}


def test_a_finished_cell_is_in_one_file(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        for point, repetition in searches(range(3)):
            record.append(make_row(point, repetition))
        summary = record.finish(info, CONTENT, 60)
        assert record.summaries() == {info.key: summary}
        assert record.done(info.key) == dict.fromkeys(searches(range(3)), "found")
        assert record.pending() == set()
    assert (summary.searches, summary.eligible, summary.content) == (6, 60, CONTENT)
    assert summary.loss == (0.0625, 0.5625, 1.0625)  # repetition 1 has the smaller objective value
    assert sorted(file.name for file in path.iterdir()) == ["lock", "record.db"]
    reader = Record.open(path)
    assert reader.summaries() == {info.key: summary}
    np.testing.assert_array_equal(reader.searches(info.key)["z"].iloc[5], [2.125, 2.0, 0.1])
    assert reader.problems == []


def test_growing_adds_to_what_is_there(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        for point, repetition in searches(range(5)):
            record.append(make_row(point, repetition))
        record.finish(info, CONTENT, 60)
    with Record.open(path, write=True) as record:
        missing = set(searches(range(20))) - record.done(info.key).keys()
        assert missing == set(searches(range(5, 20)))
        for point, repetition in missing:
            record.append(make_row(point, repetition))
        frame = record.searches(info.key)
        assert len(frame) == 40  # finished and waiting ones together
        assert record.finish(info, CONTENT, 60).searches == 40
        assert record.done(info.key) == dict.fromkeys(searches(range(20)), "found")
        after = record.searches(info.key)
        assert [list(z) for z in after["z"]] == [list(z) for z in frame["z"]]
        assert after.drop(columns=["x", "z", "candidates"]).equals(frame.drop(columns=["x", "z", "candidates"]))


def test_the_last_row_of_a_search_wins(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(0, 0, "crashed"))
        record.append(make_row(0, 0, "timed_out"))
        assert record.done(info.key) == {(0, 0): "timed_out"}
        record.finish(info, CONTENT, 1)
        record.append(make_row(0, 0, "found"))
        assert record.done(info.key) == {(0, 0): "found"}
        assert list(record.searches(info.key)["status"]) == ["found"]
        assert record.finish(info, CONTENT, 1).statuses == {"found": 1}


def test_the_order_of_searches_and_interruptions_change_nothing(
    tmp_path: Path, make_row: MakeRow, info: CellInfo
) -> None:
    files, digests = [], []
    for seed in range(3):
        path = tmp_path / str(seed)
        order = random.Random(seed).sample(searches(range(6)), 12)
        with Record.open(path, write=True) as record:
            for point, repetition in order[: 4 * seed]:
                record.append(make_row(point, repetition))
            record.finish(info, CONTENT, 9)
        with Record.open(path, write=True) as record:
            for point, repetition in order[4 * seed :]:
                record.append(make_row(point, repetition))
            record.finish(info, CONTENT, 9)
        files.append(contents(path))
        digests.append(record_digest(path))
    assert files[0] == files[1] == files[2]
    assert digests[0] == digests[1] == digests[2]


def test_the_digest_sees_everything_but_the_times(tmp_path: Path, make_row: MakeRow, info: CellInfo) -> None:
    def digest(name: str, info: CellInfo = info, content: dict[str, Any] = CONTENT, **changes: Any) -> str:
        with Record.open(tmp_path / name, write=True) as record:
            record.append(make_row(0, **changes))
            record.finish(info, content, 9)
        return record_digest(tmp_path / name)[info.key]

    plain = digest("plain")
    assert digest("times", wall_seconds=9.0, cpu_seconds=8.0) == plain
    others = [
        digest("loss", loss=np.nextafter(0.0, 1.0)),
        digest("candidates", candidates=[]),
        digest("info", info=replace(info, versions={"cogs": "2"})),
        digest("content", content={}),
    ]
    assert len({plain, *others}) == 5


def test_what_is_retried_is_forgotten(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        assert record.forget(info.key, ["crashed"]) == 0
        record.append(make_row(0, 0))
        record.append(make_row(1, 0, "crashed"))
        record.append(make_row(2, 0, "timed_out"))
        record.finish(info, CONTENT, 9)
        record.append(make_row(3, 0, "crashed"))
        record.append(make_row(4, 0))
        assert record.forget(info.key, ["invalid"]) == 0
        assert record.forget(info.key, {"crashed", "timed_out"}) == 3
        assert record.done(info.key) == {(0, 0): "found", (4, 0): "found"}
        assert record.summaries()[info.key].statuses == {"found": 1}
        record.append(make_row(1, 0))
        assert record.finish(info, CONTENT, 9).statuses == {"found": 3}
    assert Record.open(path).done(info.key) == dict.fromkeys([(0, 0), (1, 0), (4, 0)], "found")


def test_skipped_and_failed_cells_are_noted(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    other = replace(info, key="f" * 32)
    with Record.open(path, write=True) as record:
        record.skip(other, CONTENT, "handles no constraints")
        record.append(make_row(0))
        record.finish(info, CONTENT, 9)
        record.fail(info, CONTENT, "the worker died")
    summaries = Record.open(path).summaries()
    assert summaries[other.key].skipped == "handles no constraints"
    assert summaries[other.key].searches == 0
    assert summaries[info.key].failure == "the worker died"
    assert summaries[info.key].loss == (0.0,)  # what was found before stays
    with Record.open(path, write=True) as record:
        assert record.done(info.key) == {(0, 0): "found"}
        assert record.finish(info, CONTENT, 9).failure == ""
        assert record.done(other.key) == {}


def test_load_record_has_coordinates(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    other = replace(info, key="f" * 32, dataset="adult", constraints=False)
    with Record.open(path, write=True) as record:
        record.append(make_row(0))
        record.finish(info, CONTENT, 9)
        record.append(make_row(1))  # waits in a finished cell
        record.append(make_row(0, cell_key=other.key, status="crashed"))
        record.finish(other, CONTENT, 9)
        record.append(make_row(0, cell_key="e" * 32))  # of a cell that was never finished
    frame = cfbench.load_record(str(path))
    assert list(frame.columns[:7]) == [
        "cell_key", "dataset", "model", "searcher", "objective", "constraints", "fold",
    ]  # fmt: skip
    assert list(frame["dataset"]) == ["adult", "credit", "credit"]
    assert list(frame["constraints"]) == [False, True, True]
    assert list(frame["point"]) == [0, 0, 1]
    assert frame["x"].iloc[2].shape == (3,)
    assert frame["z"].iloc[0] is None


def test_load_record_of_an_empty_record(path: Path) -> None:
    Record.open(path, write=True).close()
    frame = cfbench.load_record(path)
    assert len(frame) == 0
    assert {"dataset", "loss"} <= set(frame.columns)


@pytest.mark.slow
def test_summaries_and_what_is_done_load_no_heavy_library(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        record.append(make_row(0))
        record.finish(info, CONTENT, 9)
    source = (
        "import sys; from cfbench.record.store import Record; record = Record.open(sys.argv[1])\n"
        "assert len(record.summaries()) == 1 and record.measured() == {} and record.done(sys.argv[2])\n"
        "print(sorted({'pandas', 'pyarrow', 'mlflow', 'sklearn'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", source, str(path), info.key]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_record_open_for_reading_is_not_written(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    Record.open(path, write=True).close()
    before = contents(path)
    record = Record.open(path)
    for write in (
        lambda: record.append(make_row(0)),
        lambda: record.add_machines([{"cores": "2"}]),
        lambda: record.finish(info, {}, 1),
        lambda: record.fail(info, {}, ""),
        lambda: record.forget(info.key, ["found"]),
    ):
        with pytest.raises(RecordError, match="open for reading"):
            write()
    assert contents(path) == before


def test_a_batch_is_one_commit(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        statements: list[str] = []
        record._database.connection.set_trace_callback(statements.append)
        record.append_all([make_row(point, cell_key=key) for point in range(5) for key in (info.key, "f" * 32)])
        record._database.connection.set_trace_callback(None)
        assert statements.count("COMMIT") == 1
        with pytest.raises(RecordError, match="column 'point'"):
            record.append_all([make_row(8), make_row(-1)])
        assert len(record.done(info.key)) == 5


def finish_and_fail(record: Record, make_row: MakeRow, info: CellInfo) -> None:
    record.append(make_row(0))
    record.finish(info, CONTENT, 9)
    record.append(make_row(-1))


def test_what_fails_inside_a_transaction_is_not_there(path: Path, make_row: MakeRow, info: CellInfo) -> None:
    with Record.open(path, write=True) as record:
        with pytest.raises(RecordError, match="column 'point'"), record.transaction():
            finish_and_fail(record, make_row, info)
        assert record.done(info.key) == {}
        assert record.summaries() == {}
        record.append(make_row(0))
    assert Record.open(path).pending() == {info.key}


def test_machines_are_listed_once(path: Path) -> None:
    first, second = {"processor": "abacus"}, {"processor": "slide rule"}
    with Record.open(path, write=True) as record:
        assert record.machines() == []
        record.add_machines([first])
        record.add_machines([first, second])
        record.note("study", "mine")
    with Record.open(path) as reader:
        assert reader.machines() == [first, second]
        assert reader.notes() == {"protocol": "1", "schema": "2", "study": "mine"}


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "0" * 31, "0" * 33, "A" * 32, "0" * 31 + "\n"])
def test_a_key_is_checked(path: Path, make_row: MakeRow, info: CellInfo, key: str) -> None:
    with Record.open(path, write=True) as record:
        for use in (
            lambda: record.append(make_row(0, cell_key=key)),
            lambda: record.done(key),
            lambda: record.searches(key),
            lambda: record.measures(key),
            lambda: record.finish(replace(info, key=key), {}, 1),
            lambda: record.skip(replace(info, key=key), {}, ""),
        ):
            with pytest.raises(RecordError, match="32 hexadecimal digits"):
                use()
    assert {entry.name for entry in path.iterdir()} == {"lock", "record.db"}


@pytest.mark.slow
def test_reading_while_a_process_writes_sees_whole_searches_only(
    path: Path, make_row: MakeRow, info: CellInfo, start_writer: Callable[..., Any]
) -> None:
    rows = {search: make_row(*search, x=[0.0], z=[1.0], candidates=[], figures={}) for search in searches(range(10))}
    plain = asdict(info)
    writer = start_writer(path)
    assert writer.opening == "open"
    reader = Record.open(path)
    seen: set[tuple[int, int]] = set()
    for search, row in rows.items():
        writer.send("append", row)
        if search[1] == 1:
            writer.send("finish", plain)
    writer.end()
    while True:
        ended = writer.process.poll() is not None
        now = reader.done(info.key).keys()
        assert seen <= now
        frame = reader.searches(info.key)
        assert now <= set(zip(frame["point"], frame["repetition"], strict=True))
        assert not frame.duplicated(["point", "repetition"]).any()
        reader.summaries()
        seen = set(now)
        if ended:
            break
    assert seen == rows.keys()
    assert reader.problems == []


def test_a_field_of_a_search_is_added_in_one_place(
    path: Path, tmp_path: Path, make_row: MakeRow, info: CellInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table, its checks, the packed file and the data frame follow from the field."""
    monkeypatch.setitem(SEARCHES.fields, "luck", AMOUNT)
    rows = [make_row(point) | {"luck": 0.5 + point} for point in range(2)]
    with Record.open(path, write=True) as record:
        record.adopt(info, CONTENT, 9, rows)
        with pytest.raises(RecordError, match=r"column .luck. of a row of searches cannot hold -1\.0"):
            record.append(rows[0] | {"luck": -1.0})
        with pytest.raises(RecordError, match="missing: luck"):
            record.append(make_row(2))
        pack_record(record, tmp_path / "packed")
    for place in (path, tmp_path / "packed"):
        assert cfbench.load_record(place)["luck"].tolist() == [0.5, 1.5]
    execute(path, "UPDATE searches SET luck = 9 WHERE point = 1")
    with Record.open(path) as record:
        assert len(record.rows(info.key)) == 1
        assert "point 1, repetition 0: it is damaged" in record.problems[0]
