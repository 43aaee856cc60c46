"""What a reader should know before comparing rows, a sentence each, the gravest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard


def notes_of(shown: Leaderboard) -> list[str]:
    """Return why nobody is ranked or compared, what is unequal between rows, and the board's cautions."""
    board = shown.board
    if shown.by_task:
        return list(board.cautions)
    found: dict[str, None] = {}
    for sentence in ("verdict", "notes"):
        for part in board.parts:
            said = [part.verdict] if sentence == "verdict" else part.notes
            found |= {f"{part.title}: {text}" if part.title else text: None for text in said if text}
    return [*found, *board.cautions]
