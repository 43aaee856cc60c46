from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cfbench.analysis.board import Board
from cfbench.leaderboard.markdown import render_markdown


def test_the_table_is_as_it_was_worked_out_by_hand(board: Board, golden: Path) -> None:
    assert render_markdown(board, "results") == (golden / "board.md").read_text("utf-8")


def test_names_cannot_break_the_table(board: Board) -> None:
    row = replace(board.rows[0], searcher="a|b\n| c <img src=x> [d](http://e) `f`")
    text = render_markdown(replace(board, rows=(row,)), "results")
    (line,) = [line for line in text.splitlines() if line.startswith("| credit")]
    assert r"a\|b \| c \<img src=x> [d\](http://e) \`f\`" in line
    header = next(line for line in text.splitlines() if line.startswith("| data set"))
    assert line.replace(r"\|", "").count("|") == header.count("|")
