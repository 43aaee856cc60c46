from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from cfbench.analysis.board import Board, make_board
from cfbench.events import CellInfo
from cfbench.harness.store.summary import CellSummary
from cfbench.leaderboard.terminal import PIPED_WIDTH, layout, render_text, show
from cfbench.registry import build_registry


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def header(board: Board, width: int) -> list[str]:
    titles = next(line.text for line in layout(board, "results", width) if line.text.startswith("  searcher"))
    return re.split(r"  +", titles.strip())


def board_of(*summaries: CellSummary) -> Board:
    return make_board(summaries, build_registry(), need_reference=False)


def solved(searcher: str, dataset: str = "wine") -> CellSummary:
    info = CellInfo("0" * 32, dataset, "random-forest", searcher, "none", False, 0)
    point = {"row_ids": (1,), "tries": (1,), "successes": (1,), "loss": (0.25,), "objective_value": (0.25,)}
    spent = {"seconds": (0.5,), "queries": (100,)}
    return CellSummary(info, eligible=1, repetitions=1, searches=1, **point, **spent)  # type: ignore[arg-type] # typed by hand


def test_the_table_is_as_it_was_worked_out_by_hand(board: Board, golden: Path) -> None:
    assert render_text(board, "results") == (golden / "board.txt").read_text("utf-8")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_line_is_wider_than_asked(board: Board, width: int) -> None:
    lines = layout(board, "results", width)
    assert max(cell_len(line.text) for line in lines) <= width


def test_columns_go_from_the_right_and_never_without_their_denominator(board: Board) -> None:
    everything = [
        *("searcher", "found", "points", "loss", "vs cogs", "on", "searches", "s/search", "queries"),
        *("per search", "shared loss"),  # the denominators beside these two have no title of their own
    ]
    assert header(board, 160) == everything
    assert header(board, 100) == everything[:9]
    assert header(board, 80) == everything[:8]
    assert header(board, 70) == everything[:6]
    assert header(board, 45) == everything[:4]
    assert header(board, 20) == everything[:3]


def test_only_what_is_shown_is_explained(board: Board) -> None:
    text = render_text(board, "results", 45)
    assert "found  points" in text
    assert "s/search" not in text


def test_one_searcher_alone_has_nothing_to_compare() -> None:
    assert header(board_of(solved("cogs")), 160) == [
        *("searcher", "found", "points", "loss", "searches", "s/search", "queries")
    ]


def test_a_terminal_gets_the_same_lines_with_styles(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(PIPED_WIDTH))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    terminal, pipe = Terminal(), io.StringIO()
    show(board, "results", stream=terminal)
    show(board, "results", stream=pipe)
    styled = terminal.getvalue()
    assert "\x1b[1m" in styled
    assert "\x1b" not in pipe.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", styled) == pipe.getvalue()


def test_control_characters_and_markup_of_others_do_nothing() -> None:
    text = render_text(board_of(solved("bad\x1b[2J\nname"), solved("[bold]loud[/bold]")), "results")
    assert "bad\N{REPLACEMENT CHARACTER}[2J name" in text
    assert "[bold]loud[/bold]" in text
    terminal = Terminal()
    show(board_of(solved("bad\x1b[2Jname")), "results", stream=terminal)
    assert "\x1b[2J" not in terminal.getvalue()


def test_wide_characters_keep_the_columns_straight() -> None:
    lines = render_text(board_of(solved("探索"), solved("cogs")), "results").splitlines()
    rows = [line for line in lines if "100.0" in line]
    places = {cell_len(row[: row.index("100.0")]) for row in rows}
    assert (len(rows), len(places)) == (2, 1)


def test_an_output_without_the_signs_gets_others() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    show(board_of(solved("探索\x07")), "results", stream=stream)
    stream.flush()
    assert b"???" in raw.getvalue()
    assert b"+-" in raw.getvalue()
