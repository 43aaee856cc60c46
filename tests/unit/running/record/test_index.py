"""The index: the last line of a key counts, and losing it loses nothing but time."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfbench.record.index import MOST_STALE, Index

KEYS = ["a" * 32, "b" * 32, "c" * 32]


@pytest.fixture
def problems() -> list[str]:
    return []


@pytest.fixture
def index(tmp_path: Path, problems: list[str]) -> Index:
    return Index(tmp_path / "index.log", problems.append)


def test_the_last_line_of_a_key_counts(index: Index) -> None:
    for number, key in enumerate([KEYS[0], KEYS[1], KEYS[0]]):
        index.put(key, {"n": number})
    assert {key: content["n"] for key, content in index.contents()} == {KEYS[0]: 2, KEYS[1]: 1}
    assert index.get(KEYS[0]) == {"key": KEYS[0], "n": 2}
    assert index.get(KEYS[2]) is None
    assert index.says(KEYS[0], {"n": 2})
    assert not index.says(KEYS[0], {"n": 3})


def test_it_is_rewritten_when_most_lines_are_superseded(index: Index, tmp_path: Path) -> None:
    for number in range(2 + MOST_STALE):
        index.put(KEYS[0], {"n": number})
    assert (tmp_path / "index.log").read_bytes().count(b"\n") == 2 + MOST_STALE
    index.put(KEYS[0], {"n": -1})
    index.put(KEYS[1], {"n": 0})
    assert (tmp_path / "index.log").read_bytes().count(b"\n") == 2
    assert index.get(KEYS[0]) == {"key": KEYS[0], "n": -1}


def test_a_reader_follows_a_rewriting_writer(index: Index, tmp_path: Path) -> None:
    for key in (*KEYS, *KEYS):
        index.put(key, {"padding": "x" * ord(key[0])})
    reader = Index(tmp_path / "index.log", pytest.fail)
    assert reader.get(KEYS[2]) is not None
    index.rewrite()
    assert reader.get(KEYS[1]) == {"key": KEYS[1], "padding": "x" * ord("b")}
    index.put(KEYS[2], {"padding": "new"})
    assert {content["padding"][-1] for _, content in reader.contents()} == {"x", "w"}


def test_damaged_and_foreign_lines_are_reported_once_and_rewritten(
    index: Index, tmp_path: Path, problems: list[str]
) -> None:
    for key in KEYS:
        index.put(key, {"n": 1})
    path = tmp_path / "index.log"
    path.write_bytes(path.read_bytes().replace(b'bbb","n"', b'bbb","m"') + b"2 7ea3b2f5 {}\n")
    again = Index(path, problems.append)
    assert list(again.load()) == [KEYS[0], KEYS[2]]
    seen = again.damaged
    assert ["line 2" in problem or "line 4" in problem for problem in problems] == [True, True]
    again.rewrite()
    assert (seen, again.damaged) == (True, False)
    assert path.read_bytes().count(b"\n") == 2


def test_a_missing_file_is_an_empty_index(index: Index) -> None:
    assert index.load() == {}
    assert index.get(KEYS[0]) is None
