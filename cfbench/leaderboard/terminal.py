"""The board for a terminal: styled where somebody looks at it, plain text where it is piped.

Both are the same lines. What does not fit is left out by whole parts from the right, a number never without its
denominator.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from cfbench.analysis.board import Board, make_board
from cfbench.analysis.cautions import spans
from cfbench.analysis.rows import Row
from cfbench.leaderboard.columns import Column, columns_for, headline, table_of
from cfbench.leaderboard.safe import visible

if TYPE_CHECKING:
    from cfbench.harness.store.record import Record
    from cfbench.registry import Registry

PIPED_WIDTH = 100
"""Columns of the plain text that goes into a file or another program."""

LONGEST_LABEL = 28
"""A searcher's label beyond this stands on a line of its own."""

INDENT = "  "
GAP = "  "
PLAIN_SIGNS = str.maketrans({"±": "+-", "\N{REPLACEMENT CHARACTER}": "?"})
"""What stands in for signs that an output's encoding lacks."""


@dataclass(frozen=True)
class Line:
    """A line of output with its style in rich's words."""

    text: str
    style: str = ""


def print_leaderboard(
    record: Record, registry: Registry, reference: str = "cogs", *, stream: TextIO | None = None
) -> None:
    """Print the board of a record, as `cfbench run` does at its end.

    A record without the reference searcher is shown without comparison; one without any finished cell prints a line
    that says so.

    Parameters
    ----------
    record : Record
    registry : Registry
    reference : str
        The searcher that others are compared with.
    stream : text stream, optional
        Standard output by default.
    """
    summaries = record.summaries()
    if not summaries:
        print("no finished cells yet: nothing to show", file=stream or sys.stdout)
        return
    unfinished = len(record.pending())
    board = make_board(summaries.values(), registry, reference, need_reference=False, unfinished=unfinished)
    show(board, str(record.path), stream=stream)


def show(board: Board, record: str, *, stream: TextIO | None = None) -> None:
    """Print the board, styled where `stream` is a terminal.

    Parameters
    ----------
    board : Board
    record : str
        How the record is called in the headline.
    stream : text stream, optional
        Standard output by default.
    """
    stream = stream or sys.stdout
    if not stream.isatty():
        stream.write(_encodable(render_text(board, record), stream))
        return
    console = Console(file=stream, highlight=False)
    for line in layout(board, record, console.width):
        text = Text(_encodable(line.text, stream), style=line.style)
        console.print(text, no_wrap=True, overflow="ignore", crop=False)


def render_text(board: Board, record: str, width: int = PIPED_WIDTH) -> str:
    """Return the board as plain text of at most `width` columns."""
    return "".join(f"{line.text}\n" for line in layout(board, record, width))


def layout(board: Board, record: str, width: int) -> list[Line]:
    """Lay the board out in lines: headline, header, a block a task, legend, cautions."""
    columns, widths = _fitting(board, width)
    lines = _wrapped(f"cfbench leaderboard   {headline(board, record)}", width, "bold")
    lines.append(Line(""))
    lines += [
        Line(_row([column.title for column in columns], widths), "bold"),
        Line(_row([column.unit for column in columns], widths), "dim"),
    ]
    for task, rows in board.by_task().items():
        lines += _wrapped(f"{task}{_given(rows)}", width, "bold cyan")
        for label, *numbers in table_of(rows, columns):
            if cell_len(label) <= LONGEST_LABEL:
                lines.append(Line(_row([label, *numbers], widths)))
            else:
                lines += [*_wrapped(INDENT + label, width), Line(_row(["", *numbers], widths))]
    lines.append(Line(""))
    lines += _legend(columns, width)
    for caution in board.cautions:
        lines += _wrapped(f"Note: {caution}", width, "yellow", hanging=6)
    return lines


def _fitting(board: Board, width: int) -> tuple[list[Column], list[int]]:
    """Return the columns that fit, with their widths."""
    columns = columns_for(board)
    while True:
        table = table_of(board.rows, columns)
        widths = [
            max(cell_len(text) for text in (column.title, column.unit, *cells))
            for column, *cells in zip(columns, *table, strict=True)
        ]
        short = [cell_len(label) for label, *_ in table if cell_len(label) <= LONGEST_LABEL]
        widths[0] = max(cell_len(columns[0].title), *short, 0)
        last = columns[-1].part
        if last == 0 or len(INDENT) + sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return columns, widths
        columns = [column for column in columns if column.part < last]


def _given(rows: Sequence[Row]) -> str:
    """Say what the searchers of a task were given, where it is the same for all; a caution says where it is not."""
    given = {(row.success.n, row.eligible, row.folds) for row in rows if row.folds}
    if len(given) != 1:
        return ""
    points, eligible, folds = given.pop()
    return f"   {points:,} of {eligible:,} eligible points, {'folds' if len(folds) > 1 else 'fold'} {spans(folds)}"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cells[0] + " " * (widths[0] - cell_len(cells[0]))]
    padded += [" " * (size - cell_len(cell)) + cell for cell, size in zip(cells[1:], widths[1:], strict=True)]
    return (INDENT + GAP.join(padded)).rstrip()


def _legend(columns: Sequence[Column], width: int) -> list[Line]:
    explained = [(column.title, column.legend) for column in columns if column.legend]
    margin = max(cell_len(title) for title, _ in explained) + len(GAP)
    lines = []
    for title, legend in explained:
        lines += _wrapped(title + " " * (margin - cell_len(title)) + legend, width, "dim", hanging=margin)
    return lines


def _wrapped(text: str, width: int, style: str = "", *, hanging: int = 2) -> list[Line]:
    """Break a text into lines; runs of spaces inside it are kept."""
    pieces = textwrap.wrap(visible(text), width, subsequent_indent=" " * hanging, break_on_hyphens=False)
    return [Line(piece, style) for piece in pieces]


def _encodable(text: str, stream: TextIO) -> str:
    """Return `text` in signs that the stream's encoding has."""
    encoding = stream.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN_SIGNS).encode(encoding, "replace").decode(encoding)
    return text
