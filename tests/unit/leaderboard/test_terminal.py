from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from cfbench.analysis.board import make_board
from cfbench.analysis.selection import GroupBy
from cfbench.events import CellInfo
from cfbench.harness.store.summary import CellSummary
from cfbench.leaderboard.shown import PIPED_WIDTH, Leaderboard
from cfbench.leaderboard.terminal import show
from cfbench.registry import build_registry


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def header(shown: Leaderboard, width: int) -> list[str]:
    titles = next(line.text for line in shown.lines(width) if line.text.lstrip().startswith("searcher"))
    return re.split(r"  +", titles.strip())


def board_of(*summaries: CellSummary, group_by: GroupBy = GroupBy.NOTHING) -> Leaderboard:
    return Leaderboard(make_board(summaries, build_registry(), need_reference=False, group_by=group_by), "results")


def solved(searcher: str, dataset: str = "wine") -> CellSummary:
    info = CellInfo("0" * 32, dataset, "random-forest", searcher, "none", False, 0)
    point = {"row_ids": (1,), "tries": (1,), "successes": (1,), "loss": (0.25,), "objective_value": (0.25,)}
    spent = {"seconds": (0.5,), "queries": (100,)}
    return CellSummary(info, eligible=1, repetitions=1, searches=1, **point, **spent)  # type: ignore[arg-type] # typed by hand


def test_the_tables_of_tasks_are_as_they_were_worked_out_by_hand(tasks: Leaderboard, golden: Path) -> None:
    assert f"{tasks}\n" == (golden / "tasks.txt").read_text("utf-8")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_line_is_wider_than_asked(shown: Leaderboard, tasks: Leaderboard, width: int) -> None:
    for board in (shown, tasks):
        assert max(cell_len(line.text) for line in board.lines(width)) <= width


def test_columns_go_from_the_right_and_never_without_their_denominator(tasks: Leaderboard) -> None:
    everything = [
        *("searcher", "found", "points", "loss", "vs cogs", "on", "searches", "s/search", "queries"),
        *("per search", "shared loss"),  # the denominators beside these two have no title of their own
    ]
    assert header(tasks, 160) == everything
    assert header(tasks, 100) == everything[:9]
    assert header(tasks, 80) == everything[:8]
    assert header(tasks, 70) == everything[:6]
    assert header(tasks, 45) == everything[:4]
    assert header(tasks, 20) == everything[:3]


def test_only_what_is_shown_is_explained(shown: Leaderboard, tasks: Leaderboard) -> None:
    for board in (shown, tasks):
        text = "\n".join(line.text for line in board.lines(45))
        assert "found" in text
        assert "s/search" not in text


def test_one_searcher_alone_has_nothing_to_compare() -> None:
    assert header(board_of(solved("cogs"), group_by=GroupBy.TASK), 160) == [
        *("searcher", "found", "points", "loss", "searches", "s/search", "queries")
    ]


def test_a_terminal_gets_the_same_lines_with_styles(shown: Leaderboard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(PIPED_WIDTH))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, pipe = Terminal(), io.StringIO()
    show(shown, stream=terminal)
    show(shown, stream=pipe)
    styled = terminal.getvalue()
    assert "\x1b[1m" in styled
    assert "\x1b" not in pipe.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", styled) == pipe.getvalue()


def test_control_characters_and_markup_of_others_do_nothing() -> None:
    text = str(board_of(solved("bad\x1b[2J\nname"), solved("[bold]loud[/bold]")))
    assert "bad\N{REPLACEMENT CHARACTER}[2J name" in text
    assert "[bold]loud[/bold]" in text
    terminal = Terminal()
    show(board_of(solved("bad\x1b[2Jname")), stream=terminal)
    assert "\x1b[2J" not in terminal.getvalue()


def test_wide_characters_keep_the_columns_straight() -> None:
    lines = str(board_of(solved("探索"), solved("cogs"))).splitlines()
    rows = [line for line in lines if "100.0" in line]
    places = {cell_len(row[: row.index("100.0")]) for row in rows}
    assert (len(rows), len(places)) == (2, 1)


def test_an_output_without_the_signs_gets_others() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show(board_of(solved("探索\x07"), group_by=GroupBy.TASK), stream=stream)
    stream.flush()
    assert b"???" in raw.getvalue()
    assert b"+-" in raw.getvalue()
