"""What a reader should know before comparing rows, the most important first, in whole and for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from cfbench.analysis.notes import Kind, Note, in_order
from cfbench.leaderboard.lines import Line, wrapped
from cfbench.leaderboard.safe import visible

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard

SHOWN = 5
"""Notes below a table of text, unless all are wanted."""
ALL = "`--notes` shows all, `notes` of a board in Python"


def notes_of(shown: Leaderboard) -> list[Note]:
    """Return every note of a board: why no searcher is ranked, what differs between rows, what is missing."""
    board = shown.board
    if shown.by_task:
        return list(board.cautions)
    found: list[Note] = []
    for part in board.parts:
        verdict = [Note(Kind.NO_RANKS, part.verdict)] if part.verdict else []
        found += [note.under(part.title) for note in (*verdict, *part.notes)]
    return in_order([*found, *board.cautions])


def note_lines(notes: Sequence[str], width: int, *, whole: bool) -> list[Line]:
    """Lay notes out below a table.

    Parameters
    ----------
    notes : sequence of str
        By importance.
    width : int
    whole : bool
        Whether all are shown in full; otherwise the first few, one line each.
    """
    if whole:
        return [line for note in notes for line in wrapped(f"Note: {note}", width, "yellow", hanging=6)]
    texts = [f"Note: {visible(note)}" for note in notes[:SHOWN]]
    lines = [
        Line(text if cell_len(text) <= width else f"{set_cell_size(text, width - 3)}...", "yellow") for text in texts
    ]
    more = f"and {len(notes) - SHOWN} more" if len(notes) > SHOWN else ""
    cut = "cut at ..." if any(cell_len(text) > width for text in texts) else ""
    if more or cut:
        lines += wrapped(f"Note: {more or cut}: {ALL}", width, "yellow", hanging=6)
    return lines
