"""Tables of tuned hyper-parameters, shipped and cached."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cfbench.errors import ModelError
from cfbench.running.fitted import TunedCache, TunedRow, only_choice, read_table, write_table


def test_a_table_is_sorted_and_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    names = [("b", "x", 0), ("a", "x", 1), ("a", "x", 0), ("a", "w", 3)]
    rows = [
        TunedRow(f"k{i}", model, name, fold, {"m": None}, 0.1, 0.2, "1") for i, (model, name, fold) in enumerate(names)
    ]
    write_table(path, rows)
    assert list(read_table(path)) == ["k3", "k2", "k1", "k0"]
    assert read_table(path) == {row.key: row for row in rows}
    assert len(path.read_text().splitlines()) == len(rows) + 2  # a line a row, so that changes are readable


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"key": "x"}]', "\x00"])
def test_a_broken_table_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=r"tuned.json is no table of tuned hyper-parameters.*cfbench tune --output"):
        read_table(path)


def test_a_table_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert read_table(tmp_path / "tuned.json") == {}


def test_the_cache_keeps_a_private_file_a_row(tmp_path: Path) -> None:
    rows = [TunedRow(f"k{i}", "m", "d", i, {"m": None, "rate": 1e-4}, 0.1, 0.2, "1") for i in range(3)]
    for row in rows:
        TunedCache(tmp_path).add(row)
    assert [TunedCache(tmp_path).get(row.key) for row in rows] == rows
    assert TunedCache(tmp_path).get("k3") is None
    files = list((tmp_path / "tuned").iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_row_under_another_key_is_not_believed(tmp_path: Path) -> None:
    cache = TunedCache(tmp_path)
    cache.add(TunedRow("k0", "m", "d", 0, {}, 0.1, 0.2, "1"))
    (tmp_path / "tuned" / "k0.json").rename(tmp_path / "tuned" / "k1.json")
    assert cache.get("k1") is None


def test_only_a_grid_of_one_point_leaves_no_choice() -> None:
    assert only_choice({}) == {}
    assert only_choice({"a": [None], "b": [2]}) == {"a": None, "b": 2}
    assert only_choice({"a": [None], "b": [2, 3]}) is None
    with pytest.raises(ModelError, match="gives hyper-parameter 'b' no value"):
        only_choice({"a": [1, 2], "b": []})


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    os.mkfifo(path)
    with pytest.raises(ModelError, match=r"tuned.json is no table of tuned hyper-parameters \(it is no file\)"):
        read_table(path)
