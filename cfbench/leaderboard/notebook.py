"""A leaderboard's tables as bare HTML, for notebooks, which bring their own style."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfbench.leaderboard.grid import grids_of
from cfbench.leaderboard.header import about
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.safe import visible

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard


def notebook_html(shown: Leaderboard) -> str:
    """Return headline, tables, legends and notes."""
    lines = [f"<p><b>{_escaped(about(shown.board, shown.record))}</b></p>"]
    for grid in grids_of(shown):
        lines.append(f"<table><caption>{_escaped(grid.title)}</caption>")
        lines.append(_line(grid.header, "th"))
        lines += [_line(cells, "td") for cells in grid.rows]
        lines.append("</table>")
        lines += ["<ul>", *(f"<li>{_escaped(f'{term}: {meaning}')}</li>" for term, meaning in grid.legend), "</ul>"]
    notes = [f"<li>{_escaped(f'Note: {note}')}</li>" for note in notes_of(shown)]
    return "\n".join([*lines, *(["<ul>", *notes, "</ul>"] if notes else [])])


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _line(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"
