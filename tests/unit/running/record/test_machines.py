"""The list of machines: each once, and never a reason to refuse a record."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfbench.record.machines import MOST, add_machines, read_machines
from cfbench.running.session import this_machine


def test_each_machine_stands_once(tmp_path: Path) -> None:
    assert read_machines(tmp_path) == []
    first, second = {"processor": "abacus"}, {"processor": "slide rule"}
    add_machines(tmp_path, [first])
    add_machines(tmp_path, [first, second])
    assert read_machines(tmp_path) == [first, second]


@pytest.mark.parametrize("text", ["", "{", "3", '{"processor": "abacus"}', "[[1]]", "[" * 100_000])
def test_a_damaged_list_is_no_list(tmp_path: Path, text: str) -> None:
    (tmp_path / "machines.json").write_text(text)
    assert read_machines(tmp_path) == []
    add_machines(tmp_path, [{"processor": "abacus"}])
    assert read_machines(tmp_path) == [{"processor": "abacus"}]


def test_the_list_ends(tmp_path: Path) -> None:
    add_machines(tmp_path, [{"processor": str(number)} for number in range(MOST + 5)])
    assert len(read_machines(tmp_path)) == MOST


def test_this_machine_is_told_without_its_name() -> None:
    import socket

    found = this_machine()
    assert {"python", "numpy", "scikit-learn", "processor", "cores", "system"} <= found.keys()
    assert all(value and value.isprintable() for value in found.values())
    assert socket.gethostname() not in found.values()
