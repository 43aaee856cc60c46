"""Text output: numbers as people read them, styled lines, aligned columns, and the terminal."""

from __future__ import annotations

import csv
import io
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfbench.text import markdown_cell, spreadsheet_cell, visible

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
class StyledLine:
    """A line of output with its style in rich's words."""

    text: str
    style: str = ""


def wrapped(text: str, width: int, style: str = "", *, hanging: int = 2) -> list[StyledLine]:
    """Break a text into lines; runs of spaces inside it are kept."""
    pieces = textwrap.wrap(visible(text), width, subsequent_indent=" " * hanging, break_on_hyphens=False)
    return [StyledLine(piece, style) for piece in pieces]


def explained(terms: Sequence[tuple[str, str]], width: int) -> list[StyledLine]:
    """Lay out terms with what they mean, aligned."""
    margin = max((cell_len(term) for term, _ in terms), default=0) + len(GAP)
    lines = []
    for term, meaning in terms:
        lines += wrapped(term + " " * (margin - cell_len(term)) + meaning, width, "dim", hanging=margin)
    return lines


def both_ends(left: str, right: str, end: int, width: int, style: str = "") -> list[StyledLine]:
    """Write two texts on one line, the second ending at column `end`; on two lines where they do not fit."""
    left, right = visible(left), visible(right)
    end = min(max(end, cell_len(left) + cell_len(right) + len(GAP)), width)
    room = end - cell_len(left) - cell_len(right)
    if not right:
        return wrapped(left, width, style)
    if room < len(GAP):
        return [*wrapped(left, width, style), *wrapped(f"{GAP}{right}", width, style)]
    return [StyledLine(left + " " * room + right, style)]


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, indent: int = 2) -> list[str]:
    """Return the lines of a table of plain text; cells are broken where it would be wider than `width` columns."""
    table = Table(box=None, padding=(0, len(GAP), 0, 0), pad_edge=False)
    for title in header:
        table.add_column(Text(title), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width - indent, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return [f"{' ' * indent}{line}".rstrip() for line in capture.get().splitlines()]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> list[str]:
    """Return the lines of a table in markdown; after the first `texts` columns, columns are aligned to the right."""
    ruler = ["| " + " | ".join([*[":--"] * texts, *["--:"] * (len(header) - texts)]) + " |"]
    lines = ["| " + " | ".join(markdown_cell(cell) for cell in row) + " |" for row in (header, *rows)]
    return [lines[0], *ruler, *lines[1:]]


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as CSV, a header first; an absent number is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(map(spreadsheet_cell, rows[0]))
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


PLAIN_SIGNS = str.maketrans({"±": "+-", "↑": "^", "↓": "v", "\N{REPLACEMENT CHARACTER}": "?"})
"""What stands in for signs that an output's encoding lacks."""


def show(board: Leaderboard, *, stream: TextIO | None = None) -> None:
    """Print a leaderboard, styled where `stream` is a terminal."""
    stream = stream or sys.stdout
    if not stream.isatty():
        stream.write(_encodable(text_of(board.lines()), stream))
        return
    console = Console(file=stream, highlight=False)
    for line in board.lines(console.width):
        text = Text(_encodable(line.text, stream), style=line.style)
        console.print(text, no_wrap=True, overflow="ignore", crop=False)


def text_of(lines: Iterable[StyledLine]) -> str:
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
