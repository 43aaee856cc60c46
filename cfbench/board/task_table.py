"""The tables of single tasks: their columns, and the lines that show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from cfbench.analysis.aggregate import Median, Rate
from cfbench.analysis.board import Board
from cfbench.analysis.groups import bare_name
from cfbench.analysis.notes import spans
from cfbench.analysis.rows import Row
from cfbench.board.columns import LOSS_ALONE, marked_label
from cfbench.board.standings_table import about, coverage, note_lines
from cfbench.board.text import ABSENT, GAP, Line, both_ends, change, decimal, explained, seconds, whole, wrapped
from cfbench.text import visible

LONGEST_REFERENCE = 12
"""A longer name would push other columns off the board; the headline and the legend hold it."""


@dataclass(frozen=True)
class Column:
    """A column.

    Parameters
    ----------
    title, unit : str
        The two lines of its header.
    part : int
        Columns of one part belong together, a number and its denominator; narrow outputs lack the highest parts.
    text : callable
        Row in, cell out.
    legend : str
        What the number is, in one sentence; empty where the column to its left says it.
    """

    title: str
    unit: str
    part: int
    text: Callable[[Row], str]
    legend: str = ""


def columns_for(board: Board) -> list[Column]:
    """Return the columns that say something about this board, those of most use first."""
    reference = visible(board.reference)
    columns = [
        Column("searcher", "", 0, lambda row: visible(marked_label(row))),
        Column(
            "found",
            "% points",
            0,
            lambda row: percentage(row.success) if row.folds else _state(row),
            "points with a counterfactual in any repetition, mean over folds ± population sd; higher is better",
        ),
        Column("points", "k of n", 0, lambda row: counted(row.success)),
        Column(
            "loss",
            "median",
            1,
            lambda row: decimal(row.loss.value),
            "median over the points that the searcher itself solved (the k of n); lower is better, but giving up on "
            "hard points lowers it, too",
        ),
    ]
    if any(bare_name(row.task.objective) != "none" for row in board.rows):
        columns.append(
            Column(
                "objective",
                "median",
                1,
                lambda row: decimal(row.objective.value),
                "median objective value over the same points, with the same reservation; lower is better",
            )
        )
    if any(row.relative is not None for row in board.rows):
        columns += [
            Column(
                f"vs {reference}" if len(reference) <= LONGEST_REFERENCE else "vs reference",
                "median",
                2,
                _against_reference,
                f"relative-loss: (loss - reference loss) / reference loss against {reference}, median over the "
                "points that both solved, k of the n that both were asked; lower is better",
            ),
            Column("on", "k of n", 2, lambda row: counted(row.relative)),
        ]
    columns += [
        Column("searches", "", 3, lambda row: f"{row.spending.searches:,}" if row.folds else ABSENT),
        Column(
            "s/search",
            "mean",
            3,
            lambda row: seconds(row.spending.seconds),
            "wall-clock seconds, mean over all searches, successful or not; lower is better",
        ),
        Column(
            "queries",
            "mean",
            4,
            lambda row: whole(row.spending.queries),
            "rows asked of the model a search, the objective's included, mean over all searches that were not killed; "
            "lower is better",
        ),
    ]
    if any(row.search_success != row.success for row in board.rows):
        columns += [
            Column(
                "per search",
                "% of searches",
                5,
                lambda row: percentage(row.search_success),
                "single searches that found a counterfactual, mean over folds ± population sd; higher is better",
            ),
            Column("", "k of n", 5, lambda row: counted(row.search_success)),
        ]
    if any(len(rows) > 1 for rows in board.by_task().values()):
        columns += [
            Column(
                "shared loss",
                "median",
                6,
                lambda row: decimal(row.shared_loss.value),
                "median over the points that all searchers of the task solved, k of n; lower is better",
            ),
            Column("", "k of n", 6, lambda row: counted(row.shared_loss)),
        ]
    return columns


def table_of(rows: Sequence[Row], columns: Sequence[Column]) -> list[list[str]]:
    """Return the cells of `rows`, one list a row."""
    return [[column.text(row) for column in columns] for row in rows]


def percentage(rate: Rate) -> str:
    """Write a rate as "93.3 ± 9.4"; without a deviation where there are fewer than two folds."""
    if rate.mean is None:
        return ABSENT
    spread = "" if rate.sd is None else f" ± {100 * rate.sd:.1f}"
    return f"{100 * rate.mean:.1f}{spread}"


def counted(number: Rate | Median | None) -> str:
    """Write what a number is counted over as "14 of 15"."""
    return ABSENT if number is None or number.n == 0 else f"{number.k:,} of {number.n:,}"


def _against_reference(row: Row) -> str:
    if row.is_reference and row.folds:
        return "reference"
    if row.relative is None or row.relative.value is None:
        return ABSENT
    return change(row.relative.value)


def _state(row: Row) -> str:
    """Say why a row has no numbers."""
    return "failed" if row.failed else "skipped"


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
