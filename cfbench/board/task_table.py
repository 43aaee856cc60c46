"""The tables of single tasks: their columns, each defined once, and the lines that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from cfbench.analysis.aggregate import Median, Rate
from cfbench.analysis.board import Board, Row
from cfbench.analysis.comparison import RelativeMetric
from cfbench.analysis.groups import bare_name
from cfbench.analysis.notes import spans
from cfbench.board.columns import LOSS_ALONE, Column, ShownColumn, marked_label, unit_of_comparison
from cfbench.board.standings_table import about, coverage, note_lines
from cfbench.board.text import ABSENT, GAP, StyledLine, both_ends, change, explained, score, seconds, whole, wrapped
from cfbench.text import visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

LONGEST_REFERENCE = 12
"""A longer name would push other columns off the board; the headline and the legend hold it."""


TASK_COLUMNS: tuple[Column[Row, Board], ...] = (
    Column("searcher", lambda _: None, text=lambda row, _: visible(marked_label(row)), title="searcher", numbers={}),
    Column(
        "found",
        lambda row: row.success.mean,
        text=lambda row, _: percentage(row.success) if row.folds else _state(row),
        title="found",
        unit="% points",
        legend="points with a counterfactual in any repetition, mean over folds ± population sd; higher is better",
        numbers={"success_mean": lambda row: row.success.mean, "success_sd": lambda row: row.success.sd},
    ),
    Column(
        "points",
        lambda row: row.success.k,
        text=lambda row, _: counted(row.success),
        title="points",
        unit="k of n",
        numbers={
            "points_eligible": lambda row: row.eligible,
            "points": lambda row: row.success.n,
            "points_found": lambda row: row.success.k,
        },
    ),
    Column(
        "loss",
        lambda row: row.loss.value,
        title="loss",
        unit="median",
        legend="median over the points that the searcher itself solved (the k of n); lower is better, but giving up on "
        "hard points lowers it, too",
        numbers={"loss_median": lambda row: row.loss.value, "loss_points": lambda row: row.loss.k},
        part=1,
    ),
    Column(
        "objective",
        lambda row: row.objective.value,
        title="objective",
        unit="median",
        legend="median objective value over the same points, with the same reservation; lower is better",
        numbers={"objective_median": lambda row: row.objective.value},
        applies=lambda board: any(bare_name(row.task.objective) != "none" for row in board.rows),
        part=1,
    ),
    Column(
        "searches",
        lambda row: row.spending.searches,
        text=lambda row, _: f"{row.spending.searches:,}" if row.folds else ABSENT,
        title="searches",
        part=3,
    ),
    Column(
        "seconds",
        lambda row: row.spending.seconds,
        seconds,
        title="s/search",
        unit="mean",
        legend="wall-clock seconds, mean over all searches, successful or not; lower is better",
        numbers={"seconds_mean": lambda row: row.spending.seconds},
        part=3,
    ),
    Column(
        "queries",
        lambda row: row.spending.queries,
        whole,
        title="queries",
        unit="mean",
        legend="queries of the model per search, including those of the objective, mean over all searches that were "
        "not killed; lower is better",
        numbers={
            "queries_mean": lambda row: row.spending.queries,
            "search_queries_mean": lambda row: row.spending.search_queries,
            "robustness_queries_mean": lambda row: row.spending.robustness_queries,
        },
        part=4,
    ),
    Column(
        "per-search",
        lambda row: row.search_success.mean,
        text=lambda row, _: percentage(row.search_success),
        title="per search",
        unit="% of searches",
        legend="single searches that found a counterfactual, mean over folds ± population sd; higher is better",
        numbers={
            "searches_found": lambda row: row.search_success.k,
            "search_success_mean": lambda row: row.search_success.mean,
            "search_success_sd": lambda row: row.search_success.sd,
        },
        applies=lambda board: any(row.search_success != row.success for row in board.rows),
        part=5,
    ),
    Column(
        "per-search-of",
        lambda row: row.search_success.k,
        text=lambda row, _: counted(row.search_success),
        unit="k of n",
        numbers={},
        applies=lambda board: any(row.search_success != row.success for row in board.rows),
        part=5,
    ),
    Column(
        "shared-loss",
        lambda row: row.shared_loss.value,
        title="shared loss",
        unit="median",
        legend="median over the points that all searchers of the task solved, k of n; lower is better",
        numbers={
            "shared_objective_median": lambda row: row.shared_objective.value,
            "shared_loss_median": lambda row: row.shared_loss.value,
            "shared_loss_points": lambda row: row.shared_loss.k,
        },
        applies=lambda board: any(len(rows) > 1 for rows in board.by_task().values()),
        part=6,
    ),
    Column(
        "shared-loss-of",
        lambda row: row.shared_loss.k,
        text=lambda row, _: counted(row.shared_loss),
        unit="k of n",
        numbers={},
        applies=lambda board: any(len(rows) > 1 for rows in board.by_task().values()),
        part=6,
    ),
)
"""Every column of the tables of single tasks, those of most use first."""
COMPARISONS_BEFORE = "searches"
"""The column that comparisons with the reference precede."""


def task_columns(board: Board) -> list[Column[Row, Board]]:
    """Return all columns of a board, comparisons with the reference included."""
    at = [column.name for column in TASK_COLUMNS].index(COMPARISONS_BEFORE)
    compared = [column for one in board.relatives.metrics.values() for column in _compared(one, board.reference)]
    return [*TASK_COLUMNS[:at], *compared, *TASK_COLUMNS[at:]]


def _compared(compared: RelativeMetric, reference: str) -> list[Column[Row, Board]]:
    """Return the columns of a comparison metric: its median, and the number of points."""
    name, shown, entry = compared.label, visible(reference), compared.entry
    field = name.replace("-", "_")

    def value(row: Row) -> float | None:
        return row.relative[name].value if name in row.relative else None

    def text(row: Row, _: Board) -> str:
        if row.is_reference and row.folds:
            return "reference"
        return change(value(row)) if entry.percent else score(value(row))

    def applies(board: Board) -> bool:
        return any(name in row.relative for row in board.rows)

    median = Column[Row, Board](
        name,
        value,
        text=text,
        direction=entry.direction,
        title=f"vs {shown}" if len(shown) <= LONGEST_REFERENCE else "vs reference",
        unit=visible(unit_of_comparison(compared)),
        legend=f"{name}: {visible(entry.summary)} against {shown}, median over the points that both solved, k of the n "
        f"that both searched; {entry.direction.value} is better",
        numbers={
            f"{field}_median": value,
            f"{field}_points": lambda row: row.relative[name].k if name in row.relative else None,
            f"{field}_asked": lambda row: row.relative[name].n if name in row.relative else None,
        },
        applies=applies,
        part=2,
    )
    on = Column[Row, Board](
        f"{name}-on",
        lambda row: row.relative[name].k if name in row.relative else None,
        text=lambda row, _: counted(row.relative.get(name)),
        title="on",
        unit="k of n",
        numbers={},
        applies=applies,
        part=2,
    )
    return [median, on]


def columns_for(board: Board) -> list[ShownColumn[Row, Board]]:
    """Return the columns that say something about this board."""
    return [ShownColumn(column, board) for column in task_columns(board) if column.applies(board)]


def table_of(rows: Sequence[Row], columns: Sequence[ShownColumn[Row, Board]]) -> list[list[str]]:
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


def _state(row: Row) -> str:
    """Say why a row has no numbers."""
    return "failed" if row.failed else "skipped"


LONGEST_LABEL = 28
"""A searcher's label beyond this stands on a line of its own."""

INDENT = "  "


def task_lines(shown: Leaderboard, width: int) -> list[StyledLine]:
    """Lay a board's tasks out in lines: what it is of, header, a block a task, legend, cautions."""
    board = shown.board
    columns, widths = _fitting(board, width)
    lines = both_ends(about(board, shown.record), coverage(board.standings), width, width, "bold")
    reference = f"reference {board.reference}" if board.reference else "no reference"
    lines += [
        *wrapped(reference, width),
        StyledLine(""),
        StyledLine(_row([column.title for column in columns], widths), "bold"),
        StyledLine(_row([column.unit for column in columns], widths), "dim"),
    ]
    for task, rows in board.by_task().items():
        lines += wrapped(f"{task}{_given(rows)}", width, "bold cyan")
        for label, *numbers in table_of(rows, columns):
            if cell_len(label) <= LONGEST_LABEL:
                lines.append(StyledLine(_row([label, *numbers], widths)))
            else:
                lines += [*wrapped(INDENT + label, width), StyledLine(_row(["", *numbers], widths))]
    lines.append(StyledLine(""))
    legend = [(column.title, column.legend) for column in columns if column.legend]
    if any(row.loss_alone for row in board.rows):
        legend.append(LOSS_ALONE)
    lines += explained(legend, width)
    return lines + note_lines(board.cautions, width, whole=shown.all_notes)


def _fitting(board: Board, width: int) -> tuple[list[ShownColumn[Row, Board]], list[int]]:
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
        last = columns[-1].column.part
        if last == 0 or len(INDENT) + sum(widths) + len(GAP) * (len(widths) - 1) <= width:
            return columns, widths
        columns = [column for column in columns if column.column.part < last]


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
