"""Lines of plain text with a style: what a terminal shows and a pipe gets, wrapped to a width."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from cfbench.leaderboard.safe import visible

GAP = "  "


@dataclass(frozen=True)
class Line:
    """A line of output with its style in rich's words."""

    text: str
    style: str = ""


def wrapped(text: str, width: int, style: str = "", *, hanging: int = 2) -> list[Line]:
    """Break a text into lines; runs of spaces inside it are kept."""
    pieces = textwrap.wrap(visible(text), width, subsequent_indent=" " * hanging, break_on_hyphens=False)
    return [Line(piece, style) for piece in pieces]


def explained(terms: Sequence[tuple[str, str]], width: int) -> list[Line]:
    """Lay out terms with what they mean, aligned."""
    margin = max((cell_len(term) for term, _ in terms), default=0) + len(GAP)
    lines = []
    for term, meaning in terms:
        lines += wrapped(term + " " * (margin - cell_len(term)) + meaning, width, "dim", hanging=margin)
    return lines


def both_ends(left: str, right: str, end: int, width: int, style: str = "") -> list[Line]:
    """Write two texts on one line, the second ending at column `end`; on two lines where they do not fit."""
    left, right = visible(left), visible(right)
    end = min(max(end, cell_len(left) + cell_len(right) + len(GAP)), width)
    room = end - cell_len(left) - cell_len(right)
    if not right:
        return wrapped(left, width, style)
    if room < len(GAP):
        return [*wrapped(left, width, style), *wrapped(f"{GAP}{right}", width, style)]
    return [Line(left + " " * room + right, style)]
