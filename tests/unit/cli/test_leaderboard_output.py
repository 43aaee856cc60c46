"""Where ``cfbench leaderboard --output`` writes to, and where it does not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from cfbench.errors import CfbenchError

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Board


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("table", "cfbench leaderboard"),
        ("markdown", "**"),
        ("csv", "table,position,"),
        ("latex", "% cfbench"),
        ("json", "{"),
    ],
)
def test_a_file_gets_what_the_terminal_would(board: Board, tmp_path: Path, form: str, start: str) -> None:
    output = tmp_path / "board"
    written = board("--format", form, "--output", str(output))
    assert (written.exit_code, written.stdout) == (0, "")
    text = output.read_text("utf-8")
    assert text == board("--format", form).stdout
    assert text.startswith(start)


def test_a_file_that_cannot_be_written(board: Board, tmp_path: Path) -> None:
    result = board("--output", str(tmp_path / "absent" / "board.md"))
    assert isinstance(result.exception, CfbenchError)
    assert "board.md cannot be written" in str(result.exception)
    assert "absent is no folder; make it, or name another file" in str(result.exception)


def test_a_file_is_refused_before_the_record_is_read(tmp_path: Path) -> None:
    for output, reason in ((tmp_path / "absent" / "b", "is no folder"), (tmp_path / "file" / "b", "is no folder")):
        (tmp_path / "file").touch()
        result = CliRunner().invoke(cli, ["leaderboard", "--results", str(tmp_path / "none"), "--output", str(output)])
        assert reason in str(result.exception)


def test_a_file_keeps_what_it_held_where_the_board_cannot_be_made(board: Board, tmp_path: Path) -> None:
    output = tmp_path / "board.csv"
    output.write_text("precious")
    assert board("--dataset", "vine", "--format", "csv", "--output", str(output)).exit_code != 0
    assert output.read_text() == "precious"
    assert board("--format", "csv", "--output", str(output)).exit_code == 0
    assert output.read_text().startswith("table,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["board.csv", "results"]  # no draft


@pytest.mark.slow
def test_a_pipe_takes_a_board(board: Board, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert board("--format", "csv", "--output", str(pipe)).exit_code == 0
    said, _ = reader.communicate(timeout=300)
    assert said.startswith("table,")
