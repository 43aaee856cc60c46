"""Columns of text, aligned and fitted to a width: the widest columns give way, and their cells go on below."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

GAP = "  "
NARROWEST = 8
"""A column that gives way keeps so many signs at least."""


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, indent: str = "  ") -> list[str]:
    """Return the lines of a table, of at most `width` columns where its cells allow it.

    Parameters
    ----------
    header : sequence of str
    rows : sequence of sequence of str
        As long as the header, without line breaks.
    width : int
    indent : str
        In front of every line.
    """
    lines = [header, *rows]
    widths = [max(columns_of(line[place]) for line in lines) for place in range(len(header))]
    room = width - len(indent) - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        widest = widths.index(max(widths))
        widths[widest] = max(NARROWEST, widths[widest] - (sum(widths) - room), _second(widths))
    return [text for line in lines for text in _laid_out(line, widths, indent)]


def columns_of(text: str) -> int:
    """Return how many columns of a terminal a text takes: wide signs take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in ("F", "W")) for sign in text
    )


def _second(widths: Sequence[int]) -> int:
    """Return one less than the widest, or the width of the column next to it: columns give way evenly."""
    widest = max(widths)
    others = [one for one in widths if one < widest]
    return min(widest - 1, max(others, default=widest - 1))


def _laid_out(line: Sequence[str], widths: Sequence[int], indent: str) -> list[str]:
    pieces = [
        [cell] if columns_of(cell) <= size else textwrap.wrap(cell, size, break_on_hyphens=False)
        for cell, size in zip(line, widths, strict=True)
    ]
    height = max(len(cell) for cell in pieces)
    texts = []
    for row in range(height):
        cells = [cell[row] if row < len(cell) else "" for cell in pieces]
        padded = [cell + " " * (size - columns_of(cell)) for cell, size in zip(cells, widths, strict=True)]
        texts.append((indent + GAP.join(padded)).rstrip())
    return texts
