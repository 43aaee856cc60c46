"""A leaderboard's tables as titles and cells of text, for the renderings that lay out nothing themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cfbench.analysis.cautions import spans
from cfbench.analysis.standings import Standings
from cfbench.leaderboard.header import alike, coverage, searches_a_task, tasks_of
from cfbench.leaderboard.numbers import ABSENT
from cfbench.leaderboard.standing_columns import (
    LOSS_ALONE,
    SIGNIFICANCE,
    cell_text,
    column_named,
    columns_of,
    marked_label,
    sorted_rows,
    state_text,
)
from cfbench.leaderboard.task_columns import columns_for, table_of

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard

TASK_TITLES = ("data set", "model", "objective", "constraints", "folds")


@dataclass(frozen=True)
class Grid:
    """One table.

    Parameters
    ----------
    title : str
        What it is of.
    header : tuple of str
    rows : tuple of tuple of str
    texts : int
        How many columns, from the left, are words, not numbers.
    legend : tuple of (str, str)
        What the columns mean.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int
    legend: tuple[tuple[str, str], ...]


def grids_of(shown: Leaderboard) -> Iterator[Grid]:
    """Yield the tables that are shown: one of all tasks' rows, or one for each overall table."""
    if shown.by_task:
        yield _of_tasks(shown)
        return
    for part in shown.board.parts:
        yield _of_standings(part, shown)


def _of_standings(standings: Standings, shown: Leaderboard) -> Grid:
    columns = columns_of(standings, shown.columns, shown.board.reference)
    rows = []
    for row in sorted_rows(standings, column_named(columns, shown.by) if shown.by else None):
        position = str(row.position).strip() if row.position else (state_text(row, standings) or ABSENT)
        cells = [cell_text(row, column, standings) or ABSENT for column in columns]
        rows.append((position, marked_label(row), *cells))
    titles = []
    for column in columns:
        unit = column.unit.replace(column.arrow, "").strip() if column.arrow else column.unit
        title = column.title or column.name
        titles.append(" ".join(filter(None, [title, f"({unit.strip('()')})" if unit else "", column.arrow])))
    about = "; ".join(
        filter(
            None,
            [
                standings.title,
                tasks_of(standings),
                alike(standings),
                searches_a_task(standings),
                "" if standings.white else coverage(standings),
            ],
        )
    )
    legend = [
        (column.title, f"{column.legend}{f' ({column.counted})' if column.counted else ''}")
        for column in columns
        if column.legend
    ]
    if any(row.group for row in standings.rows):
        legend.append(SIGNIFICANCE)
    if any(row.loss_alone for row in standings.rows):
        legend.append(LOSS_ALONE)
    if standings.limits:
        legend.append(("limits", standings.limits))
    return Grid(about, ("position", "searcher", *titles), tuple(rows), 2, tuple(legend))


def _of_tasks(shown: Leaderboard) -> Grid:
    board = shown.board
    columns = columns_for(board)
    titles = [f"{column.title} ({column.unit})" if column.unit else column.title for column in columns]
    rows = []
    for row, cells in zip(board.rows, table_of(board.rows, columns), strict=True):
        constraints, folds = "on" if row.task.constraints else "off", spans(row.folds) or ABSENT
        rows.append((row.task.dataset, row.task.model, row.task.objective, constraints, folds, *cells))
    legend = [(column.title, column.legend) for column in columns if column.legend]
    if any(row.loss_alone for row in board.rows):
        legend.append(LOSS_ALONE)
    reference = f"reference {board.reference}" if board.reference else "no reference"
    header = (*TASK_TITLES, *(title.strip() for title in titles))
    return Grid(f"{coverage(board.standings)}; {reference}", header, tuple(rows), len(TASK_TITLES) + 1, tuple(legend))
