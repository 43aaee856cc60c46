"""A small record, and ``cfbench leaderboard`` on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.record.store import Record
from tests.unit.cli.written_cells import write_cell

Board = Callable[..., Result]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    path = tmp_path / "results"
    with Record.open(path, write=True) as record:
        write_cell(record, "cogs", [0.2, 0.4])
        write_cell(record, "cogs", [0.2], fold=1)
        write_cell(record, "lore", [0.3, None])
        write_cell(record, "lore", [0.2], fold=1)
        write_cell(record, "cogs", [0.1], dataset="credit")
    return path


@pytest.fixture
def board(results: Path) -> Board:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["leaderboard", "--results", str(results), *arguments])

    return invoke
