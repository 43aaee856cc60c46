"""Text output: numbers as people read them, styled lines, aligned columns, and the terminal."""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cfbench.text import visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

ABSENT = "-"


def change(ratio: float | None) -> str:
    """Write a relative change as "+25.0%"; what rounds to nothing has no sign."""
    if ratio is None:
        return ABSENT
    text = f"{100 * ratio:+,.1f}%"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text


def whole_change(ratio: float | None) -> str:
    """Write a relative change as "+25%"; one that rounds to nothing as "+0%"."""
    if ratio is None:
        return ABSENT
    return f"{100 * ratio:+,.0f}%".replace("-0%", "+0%") if abs(ratio) < 0.005 else f"{100 * ratio:+,.0f}%"


def fine_change(ratio: float | None) -> str:
    """Write a relative change of which little matters with two digits: "+0.014%", "+1.4%", "+113%"."""
    if ratio is None:
        return ABSENT
    percent = 100 * ratio
    if abs(percent) < 0.0005:  # the rounding of sums
        return "+0%"
    return f"{percent:+,.{min(3, max(0, 1 - floor(log10(abs(percent)))))}f}%"


def decimal(value: float | None) -> str:
    """Write a loss with three decimals."""
    return ABSENT if value is None else f"{value:.3f}"


def decimals(values: Sequence[float | None]) -> int:
    """Return how many decimals a column of metrics takes: two, more where all numbers are small."""
    largest = max((abs(value) for value in values if value is not None), default=1.0)
    return 2 if largest >= 0.2 or largest == 0 else 3 if largest >= 0.02 else 4


def score(value: float | None, digits: int = 2) -> str:
    """Write a metric with so many decimals; without any where it is large."""
    if value is None:
        return ABSENT
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"


def seconds(value: float | None) -> str:
    """Write seconds, finer where they are few."""
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}"


def short_seconds(value: float | None) -> str:
    """Write seconds with two decimals, three where two would be zeros."""
    if value is None:
        return ABSENT
    return f"{value:.3f}" if value < 0.01 else f"{value:,.2f}"


def whole(value: float | None) -> str:
    """Write a number of rows."""
    return ABSENT if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    """Write a share as "99.9%"; never 100.0% or 0.0% where it is not."""
    if value is None:
        return ABSENT
    text = f"{100 * value:.1f}%"
    if text == "100.0%" and value < 1:
        return "99.9%"
    return "0.1%" if text == "0.0%" and value > 0 else text


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


COLUMN_GAP = "  "
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
    room = width - len(indent) - len(COLUMN_GAP) * (len(widths) - 1)
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
        texts.append((indent + COLUMN_GAP.join(padded)).rstrip())
    return texts


PLAIN_SIGNS = str.maketrans({"±": "+-", "↑": "^", "↓": "v", "\N{REPLACEMENT CHARACTER}": "?"})
"""What stands in for signs that an output's encoding lacks."""


def show(board: Leaderboard, *, stream: TextIO | None = None) -> None:
    """Print a leaderboard, styled where `stream` is a terminal.

    Parameters
    ----------
    board : Leaderboard
    stream : text stream, optional
        Standard output by default.
    """
    stream = stream or sys.stdout
    if not stream.isatty():
        stream.write(_encodable(text_of(board.lines()), stream))
        return
    console = Console(file=stream, highlight=False)
    for line in board.lines(console.width):
        text = Text(_encodable(line.text, stream), style=line.style)
        console.print(text, no_wrap=True, overflow="ignore", crop=False)


def text_of(lines: Iterable[Line]) -> str:
    """Return lines as plain text."""
    return "".join(f"{line.text}\n" for line in lines)


def _encodable(text: str, stream: TextIO) -> str:
    """Return `text` in signs that the stream's encoding has."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
    return text
