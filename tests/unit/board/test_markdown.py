from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cfbench.analysis.result_matrix import ComparedSearcher
from cfbench.board.board import Leaderboard
from cfbench.board.tabular import render_latex, render_markdown


def named(shown: Leaderboard, name: str) -> Leaderboard:
    """The board with one row, of a searcher of that name."""
    row = replace(shown.board.standings.rows[0], searcher=ComparedSearcher(name))
    return replace(shown, board=replace(shown.board, parts=(replace(shown.board.standings, rows=(row,)),)))


def test_the_tables_of_tasks_are_as_they_were_worked_out_by_hand(tasks: Leaderboard, golden: Path) -> None:
    assert render_markdown(tasks) == (golden / "tasks.md").read_text("utf-8")


def test_names_cannot_break_a_markdown_table(shown: Leaderboard) -> None:
    text = render_markdown(named(shown, "a|b\n| c <img src=x> [d](http://e) `f`"))
    header, _, line = [line for line in text.splitlines() if line.startswith("|")]
    assert r"a\|b \| c \<img src=x> [d\](http://e) \`f\`" in line
    assert line.replace(r"\|", "").count("|") == header.count("|")


def test_names_cannot_break_a_latex_table(shown: Leaderboard) -> None:
    text = render_latex(named(shown, "50% \\input{x} & a_b #1 $y$ ~^"))
    (line,) = [line for line in text.splitlines() if "50" in line and line.endswith(r"\\")]
    assert r"50\% \textbackslash{}input\{x\} \& a\_b \#1 \$y\$ \textasciitilde{}\textasciicircum{}" in line
    header = next(line for line in text.splitlines() if "searcher" in line and line.endswith(r"\\"))
    assert line.count(" & ") == header.count(" & ")


def test_latex_is_a_whole_table(shown: Leaderboard) -> None:
    text = render_latex(shown)
    for part in ("table", "tabular"):
        assert text.count(f"\\begin{{{part}}}") == text.count(f"\\end{{{part}}}") == 1
    assert "% Note: " in text
    assert "↓" not in text
