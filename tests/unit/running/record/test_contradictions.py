"""An index that says other things of a cell than its tables: what is seen at once, and what verifying compares."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cfbench.record.lines import encode_line, scan
from cfbench.record.record import Record
from cfbench.registry.events import CellInfo

MakeRow = Callable[..., dict[str, Any]]
KEY = "0123456789abcdef" * 2
OTHER = "f" * 32


def forge(index: Path, **changes: Any) -> None:
    """Change the last line of an index and its checksum, as somebody who makes results up would."""
    lines = [json.loads(line.payload) for line in scan(index.read_bytes()).lines]
    lines[-1] |= changes
    index.write_bytes(b"".join(encode_line(json.dumps(line, separators=(",", ":")).encode()) for line in lines))


def contradictions(path: Path, key: str = OTHER) -> list[str]:
    with Record.open(path) as record:
        return record.contradictions(key, record.held(key))


@pytest.fixture
def measured(path: Path, two_cells: tuple[Path, Path]) -> Path:
    with Record.open(path, write=True) as record:
        values = {"metric": "m", "version": "1", "settings": "{}", "point": [0, 1, 2], "repetition": 0}
        record.write_measures(OTHER, pd.DataFrame({"cell_key": OTHER, **values, "value": [0.5, -float("nan"), 0.25]}))
    return path


def test_honest_indexes_contradict_nothing(measured: Path) -> None:
    assert contradictions(measured) == contradictions(measured, KEY) == []
    with Record.open(measured, write=True) as record:
        summary = record.summaries()[OTHER]
        record.fail(summary.info, summary.content, "its worker died")
    assert contradictions(measured) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"loss": [0.0, 0.0, 0.0]}, "another loss than its table"),
        ({"seconds": [0.0, 0.5, 0.5], "queries": [1, 1, 1]}, "another seconds, queries than"),
        ({"fingerprints": ["0" * 32]}, "another fingerprints than"),
        ({"eligible": 3}, "another eligible than"),
        ({"content": {"a": 2}}, "another content than"),
    ],
)
def test_a_line_with_other_values_is_named(measured: Path, changes: dict[str, Any], named: str) -> None:
    forge(measured / "index.log", **changes)
    (sentence,) = contradictions(measured)
    assert sentence.startswith("index.log has ")
    assert named in sentence
    assert contradictions(measured, KEY) == []


def test_a_forged_measure_is_named(measured: Path) -> None:
    (line,) = scan((measured / "measured.log").read_bytes()).lines
    (value,) = json.loads(line.payload)["values"]
    forge(measured / "measured.log", values=[value[:-4] + "AAA="])
    assert contradictions(measured) == ["measured.log has another m than its measures"]
    forge(measured / "measured.log", measured=[["other", "1", "{}"]])
    assert contradictions(measured) == ["measured.log has another list of what was measured than its measures"]


@pytest.mark.parametrize("content", [b"", b"PAR1 something else", None])
def test_a_table_of_another_size_is_read_in_place_of_its_line(
    path: Path, two_cells: tuple[Path, Path], content: bytes | None
) -> None:
    table = two_cells[1]
    table.write_bytes(table.read_bytes()[:-1] if content is None else content)
    with Record.open(path) as record:
        assert record.summaries().keys() == {KEY}
        assert record.problems == [
            f"{table} cannot be read (it is cut off, damaged, or not from a record); its cell runs again with the next "
            "`cfbench run` of its study"
        ]


def test_a_newer_table_is_read_in_place_of_its_line_and_the_writer_notes_it(
    path: Path, make_row: MakeRow, info: CellInfo
) -> None:
    with Record.open(path, write=True) as record:
        record.adopt(info, {"a": 1}, 9, [make_row(0)])
        before = (path / "index.log").read_bytes()
        record.adopt(info, {"a": 1}, 9, [make_row(0), make_row(1, reason="a longer row")])
        record.fail(info, {"a": 1}, "its worker died")
        after = record.summaries()[KEY]
    (path / "index.log").write_bytes(before)
    forge(path / "index.log", failure="its worker died")
    with Record.open(path) as record:
        assert record.summaries()[KEY] == after
    assert (path / "index.log").read_bytes().count(b"\n") == 1
    Record.open(path, write=True).close()
    assert (path / "index.log").read_bytes().count(b"\n") == 2
    assert contradictions(path, KEY) == []
    assert Record.open(path).summaries()[KEY] == after


def test_a_line_of_searches_that_no_table_holds_is_not_believed(path: Path, two_cells: tuple[Path, Path]) -> None:
    forge(path / "index.log", mark="")
    two_cells[1].unlink()
    with Record.open(path) as record:
        assert record.summaries().keys() == {KEY}
        assert "it counts 3 searches of no table" in record.problems[0]


def test_counts_that_differ_are_not_understood(path: Path, two_cells: tuple[Path, Path]) -> None:
    honest = Record.open(path).summaries()
    forge(path / "index.log", searches=4)
    with Record.open(path) as record:
        assert record.summaries() == honest
        assert "its counts of searches differ" in record.problems[0]


def test_a_table_that_cannot_be_looked_at_is_left_to_whoever_reads_it(path: Path, two_cells: tuple[Path, Path]) -> None:
    two_cells[1].unlink()
    two_cells[1].symlink_to(two_cells[1])
    with Record.open(path) as record:
        assert record.summaries().keys() == {KEY, OTHER}
