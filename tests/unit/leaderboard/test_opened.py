"""The leaderboard as an object, on the board of tests/golden and on records written by hand."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import cfbench
from cfbench.analysis.board import Board
from cfbench.events import CellFinished, CellInfo
from cfbench.harness.store.record import Record
from cfbench.leaderboard.markdown import render_markdown
from cfbench.leaderboard.opened import Leaderboard
from cfbench.leaderboard.tabular import render_csv
from cfbench.leaderboard.terminal import render_text

FinishedCell = Callable[..., CellFinished]


def test_the_text_is_the_terminals_and_the_markdown_is_the_commands(board: Board) -> None:
    shown = Leaderboard(board, "results")
    assert f"{shown}\n" == render_text(board, "results")
    assert shown._repr_markdown_() == render_markdown(board, "results")


def test_the_frame_holds_every_number_of_the_csv(board: Board) -> None:
    frame = Leaderboard(board, "results").to_frame()
    written = list(csv.DictReader(io.StringIO(render_csv(board))))
    assert list(frame.columns) == list(written[0])
    assert len(frame) == len(written) == len(board.rows)
    numbers = [float(row["success_mean"]) for row in written if row["success_mean"]]
    assert frame["success_mean"].dropna().tolist() == numbers


def test_the_html_shows_every_row_with_its_denominator_and_escapes_names(board: Board) -> None:
    mean = replace(board.rows[0], searcher="<script>alert(1)</script>")
    page = Leaderboard(replace(board, rows=(mean, *board.rows[1:])), "a & b")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "a &amp; b" in page
    assert page.count("<table>") == page.count("</table>") == len(board.by_task())
    assert page.count("<td>") == len(board.rows) * page.count("<th>") / len(board.by_task())


def test_a_record_is_opened_by_its_path(
    tmp_path: Path, finished_cell: FinishedCell, put_cell: Callable[[Record, CellFinished], None]
) -> None:
    with Record.open(tmp_path / "r", write=True) as record:
        put_cell(record, finished_cell([0.25, None]))
        other = CellInfo("0" * 31 + "2", "credit", "random-forest", "toy", "none", constraints=False, fold=0)
        put_cell(record, finished_cell([0.5, 0.5], info=other))
    shown = cfbench.leaderboard(tmp_path / "r", reference="cogs")
    assert shown.to_frame()[["searcher", "points_found", "points"]].values.tolist() == [["toy", 2, 2], ["cogs", 1, 2]]
    assert str(tmp_path / "r") in str(shown)
    with pytest.raises(cfbench.UnknownNameError, match="unknown data set of this record 'wine'"):
        cfbench.leaderboard(tmp_path / "r", datasets=["wine"])


def test_where_there_is_nothing_the_message_says_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(cfbench.CfbenchError, match="there is no record"):
        cfbench.leaderboard(tmp_path / "nowhere")
    Record.open(tmp_path / "empty", write=True).close()
    with pytest.raises(cfbench.CfbenchError, match=r"no cell is finished; cfbench\.run finishes some"):
        cfbench.leaderboard(tmp_path / "empty")


@pytest.mark.parametrize("first", ["import cfbench", "import cfbench.leaderboard.terminal, cfbench"])
def test_the_package_and_the_function_are_one_name(first: str, tmp_path: Path) -> None:
    code = (
        f"{first}\n"
        "for _ in range(2):\n"
        "    try:\n        cfbench.leaderboard('nowhere')\n"
        "    except cfbench.CfbenchError as error:\n        print(error)\n"
        "from cfbench.leaderboard.terminal import print_leaderboard\n"
        "import inspect; print(list(inspect.signature(cfbench.leaderboard).parameters)[0])\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    lines = ended.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0] == lines[1]
    assert lines[2] == "results"
