"""The board as markdown, to paste into an issue or a paper's supplement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfbench.leaderboard.grid import Grid, grids_of
from cfbench.leaderboard.header import about
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.safe import markdown_cell

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard


def render_markdown(shown: Leaderboard) -> str:
    """Return a leaderboard as markdown: headline, tables, legends, what to know before comparing rows."""
    lines = [f"**{markdown_cell(about(shown.board, shown.record))}**"]
    for grid in grids_of(shown):
        lines += ["", f"{markdown_cell(grid.title)}", "", *_table(grid), ""]
        lines += [f"- {markdown_cell(term)}: {markdown_cell(meaning)}" for term, meaning in grid.legend]
    notes = notes_of(shown)
    if notes:
        lines += ["", "To know before comparing rows:", "", *(f"- {markdown_cell(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _table(grid: Grid) -> list[str]:
    ruler = [*[":--"] * grid.texts, *["--:"] * (len(grid.header) - grid.texts)]
    return [_line(grid.header), _line(ruler, escape=False), *map(_line, grid.rows)]


def _line(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(markdown_cell(cell) if escape else cell for cell in cells) + " |"
