"""The tables of single tasks as lines of text, a block a task under one header.

What does not fit is left out by whole parts from the right, a number never without its denominator.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from cfbench.analysis.board import Board
from cfbench.analysis.cautions import spans
from cfbench.analysis.rows import Row
from cfbench.leaderboard.header import about, coverage
from cfbench.leaderboard.lines import GAP, Line, both_ends, explained, wrapped
from cfbench.leaderboard.notes import note_lines
from cfbench.leaderboard.standing_columns import LOSS_ALONE
from cfbench.leaderboard.task_columns import Column, columns_for, table_of

LONGEST_LABEL = 28
"""A searcher's label beyond this stands on a line of its own."""

INDENT = "  "


def task_lines(board: Board, record: str, width: int, *, all_notes: bool = False) -> list[Line]:
    """Lay a board's tasks out in lines: what it is of, header, a block a task, legend, cautions."""
    columns, widths = _fitting(board, width)
    lines = both_ends(about(board, record), coverage(board.standings), width, width, "bold")
    reference = f"reference {board.reference}" if board.reference else "no reference"
    lines += [
        *wrapped(reference, width),
        Line(""),
        Line(_row([column.title for column in columns], widths), "bold"),
        Line(_row([column.unit for column in columns], widths), "dim"),
    ]
    for task, rows in board.by_task().items():
        lines += wrapped(f"{task}{_given(rows)}", width, "bold cyan")
        for label, *numbers in table_of(rows, columns):
            if cell_len(label) <= LONGEST_LABEL:
                lines.append(Line(_row([label, *numbers], widths)))
            else:
                lines += [*wrapped(INDENT + label, width), Line(_row(["", *numbers], widths))]
    lines.append(Line(""))
    legend = [(column.title, column.legend) for column in columns if column.legend]
    if any(row.loss_alone for row in board.rows):
        legend.append(LOSS_ALONE)
    lines += explained(legend, width)
    return lines + note_lines(board.cautions, width, whole=all_notes)


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
