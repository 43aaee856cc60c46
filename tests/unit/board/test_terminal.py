from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len

from cfbench.analysis.board import make_board
from cfbench.analysis.groups import GroupBy
from cfbench.board.board import PIPED_WIDTH, Leaderboard
from cfbench.board.standings_table import note_lines
from cfbench.board.text import show
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import build_registry
from tests.toys.cells import cell


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
    return cell([0.25], searcher=searcher, dataset=dataset)


def test_the_tables_of_tasks_are_as_they_were_worked_out_by_hand(tasks: Leaderboard, golden: Path) -> None:
    assert f"{tasks}\n" == (golden / "tasks.txt").read_text("utf-8")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_no_line_is_wider_than_asked(shown: Leaderboard, tasks: Leaderboard, width: int) -> None:
    for board in (shown, tasks):
        assert max(cell_len(line.text) for line in board.lines(width)) <= width


def test_columns_go_from_the_right_and_never_without_their_denominator(tasks: Leaderboard) -> None:
    everything = [
        *("searcher", "found", "points", "loss", "objective", "vs cogs", "on", "searches", "s/search", "queries"),
        *("per search", "shared loss"),  # the denominators next to these two have no title of their own
    ]
    assert header(tasks, 160) == everything
    assert header(tasks, 100) == everything[:10]
    assert header(tasks, 90) == everything[:9]
    assert header(tasks, 80) == everything[:7]
    assert header(tasks, 50) == everything[:5]
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


def test_a_terminal_has_the_first_five_notes_a_line_each() -> None:
    notes = ["a" * 200, *(f"note {i}" for i in range(6))]
    lines = [line.text for line in note_lines(notes, 80, whole=False)]
    assert lines[0] == f"Note: {'a' * 71}..."
    assert lines[1:5] == [f"Note: note {i}" for i in range(4)]
    assert lines[5:] == ["Note: and 2 more: `--notes` shows all, `notes` of a board in Python"]
    assert [line.text for line in note_lines(notes[1:3], 80, whole=False)] == ["Note: note 0", "Note: note 1"]
    assert note_lines([], 80, whole=False) == []
    (_, said) = note_lines(notes[:1], 80, whole=False)
    assert said.text.startswith("Note: cut at ...: `--notes`")


@pytest.fixture
def board_with_notes() -> Leaderboard:
    names = [f"searcher-{i}" for i in range(8)]
    skipped = [cell(searcher=name, dataset="wine", skipped=f"{name} cannot do it") for name in names]
    return board_of(solved("cogs"), solved("lore"), *skipped)


def test_the_table_has_five_notes_and_json_has_all(board_with_notes: Leaderboard) -> None:
    shown = [line for line in str(board_with_notes).splitlines() if line.startswith("Note: ")]
    assert len(shown) == 6
    assert shown[-1].startswith("Note: and 4 more")
    whole = str(replace(board_with_notes, all_notes=True))
    assert whole.count("Note: ") == 9
    assert json.loads(board_with_notes.render("json"))["notes"] == list(board_with_notes.notes)
    assert board_with_notes.notes[0] == "too few tasks for a test: 1 task; 2 searchers need 6"
    assert board_with_notes.notes[1:] == tuple(f"1 cell skipped: searcher-{i} cannot do it" for i in range(8))
