"""The overall table as markdown, LaTeX, HTML for a notebook, CSV and JSON, all from the same numbers."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfbench.analysis.board import Board, Row
from cfbench.analysis.notes import spans
from cfbench.analysis.standings import Standings, StandingsRow
from cfbench.board.columns import (
    LOSS_ALONE,
    SIGNIFICANCE,
    column_named,
    columns_of,
    every_column,
    marked_label,
    state_text,
)
from cfbench.board.standings_table import about, alike, coverage, searches_a_task, tasks_of
from cfbench.board.task_table import columns_for, table_of, task_columns
from cfbench.board.text import ABSENT, csv_text, markdown_table
from cfbench.problem.outcome import Status
from cfbench.text import latex_cell, markdown_cell, visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

TASK_TITLES = ("data set", "model", "objective", "constraints", "folds")


@dataclass(frozen=True)
class Grid:
    """One table."""

    title: str  # what it is of
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int  # how many columns, from the left, are words, not numbers
    legend: tuple[tuple[str, str], ...]  # what the columns mean


def grids_of(shown: Leaderboard) -> Iterator[Grid]:
    """Yield the tables that are shown: one of all tasks' rows, or one for each overall table."""
    if shown.by_task:
        yield _of_tasks(shown)
        return
    for part in shown.board.parts:
        yield _of_standings(part, shown)


def _of_standings(standings: Standings, shown: Leaderboard) -> Grid:
    columns = columns_of(standings, shown.columns)
    rows = []
    for row in column_named(columns, shown.by).sorted_rows() if shown.by else standings.rows:
        position = str(row.position).strip() if row.position else (state_text(row, standings) or ABSENT)
        cells = [column.text(row) or ABSENT for column in columns]
        rows.append((position, marked_label(row), *cells))
    titles = []
    for column in columns:
        unit = column.bare_unit.strip("()")
        titles.append(" ".join(filter(None, [column.title or column.name, f"({unit})" if unit else "", column.arrow])))
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
    legend = [(column.title, column.explained) for column in columns if column.legend]
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


def render_markdown(shown: Leaderboard) -> str:
    """Return a leaderboard as markdown: headline, tables, legends, what to know before comparing rows."""
    lines = [f"**{markdown_cell(about(shown.board, shown.record))}**"]
    for grid in grids_of(shown):
        lines += ["", f"{markdown_cell(grid.title)}", "", *markdown_table(grid.header, grid.rows, grid.texts), ""]
        lines += [f"- {markdown_cell(term)}: {markdown_cell(meaning)}" for term, meaning in grid.legend]
    notes = shown.notes
    if notes:
        lines += ["", "To know before comparing rows:", "", *(f"- {markdown_cell(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def render_latex(shown: Leaderboard) -> str:
    """Return a leaderboard as LaTeX, a table environment each; notes are comments, so that none is lost unseen."""
    lines = [
        f"% {visible(about(shown.board, shown.record))}",
        "% Needs \\usepackage{booktabs}",
        *(f"% Note: {visible(note)}" for note in shown.notes),
    ]
    for grid in grids_of(shown):
        lines += ["", *_latex_table(grid)]
    return "\n".join(lines) + "\n"


def _latex_table(grid: Grid) -> list[str]:
    legend = " ".join(f"\\emph{{{latex_cell(term)}}}: {latex_cell(meaning)}." for term, meaning in grid.legend)
    return [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex_cell(grid.title)}. {legend}}}",
        f"\\begin{{tabular}}{{{'l' * grid.texts}{'r' * (len(grid.header) - grid.texts)}}}",
        "\\toprule",
        _latex_line(grid.header),
        "\\midrule",
        *map(_latex_line, grid.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]


def _latex_line(cells: tuple[str, ...]) -> str:
    return " & ".join(map(latex_cell, cells)) + " \\\\"


def notebook_html(shown: Leaderboard) -> str:
    """Return headline, tables, legends and notes."""
    lines = [f"<p><b>{_escaped(about(shown.board, shown.record))}</b></p>"]
    for grid in grids_of(shown):
        lines.append(f"<table><caption>{_escaped(grid.title)}</caption>")
        lines.append(_html_line(grid.header, "th"))
        lines += [_html_line(cells, "td") for cells in grid.rows]
        lines.append("</table>")
        lines += ["<ul>", *(f"<li>{_escaped(f'{term}: {meaning}')}</li>" for term, meaning in grid.legend), "</ul>"]
    notes = [f"<li>{_escaped(f'Note: {note}')}</li>" for note in shown.notes]
    return "\n".join([*lines, *(["<ul>", *notes, "</ul>"] if notes else [])])


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _html_line(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"


def flat_standing(row: StandingsRow, part: Standings) -> dict[str, Any]:
    """Return the numbers of a row of an overall table by the names of their columns; None where there is none."""
    return {
        "table": part.title,
        "position": row.position.number if row.position else None,
        "position_shared": row.position.shared if row.position else None,
        "group": row.group,
        "searcher": row.searcher.name,
        "setup": row.searcher.setup,
        "white_box": row.searcher.white_box,
        "yours": row.searcher.yours,
        "not_run_here": row.searcher.not_run_here,
        "state": row.state.value,
        "why": row.why,
        "tasks": len(part.in_play),
        "tasks_loss_alone": row.loss_alone,
        "tie": part.tolerance.relative,
        "basis": part.basis.value,
        **{name: number(row) for column in every_column(part) for name, number in column.fields.items()},
    }


def flat_row(row: Row, board: Board) -> dict[str, Any]:
    """Return the numbers of a searcher on one task by the names of their columns; None where there is none."""
    metrics: dict[str, Any] = {}
    for label, (mean, points) in row.metrics.items():
        metrics |= {label: mean, f"{label}_points": points}
    return {
        "dataset": row.task.dataset,
        "model": row.task.model,
        "objective": row.task.objective,
        "constraints": row.task.constraints,
        "searcher": row.searcher,
        "setup": row.setup,
        "white_box": row.white_box,
        "yours": row.yours,
        "not_run_here": row.not_run_here,
        "folds": spans(row.folds),
        "loss_alone": row.loss_alone,
        "cells": row.cells,
        "cells_failed": row.failed,
        "cells_skipped": row.skipped,
        "reference": board.reference,
        **{name: number(row) for column in task_columns(board) for name, number in column.fields.items()},
        **{f"status_{status.value}": row.statuses.get(status.value, 0) for status in Status},
        **metrics,
    }


def render_csv(shown: Leaderboard) -> str:
    """Return what is shown as CSV: a header, then one line for each row; an absent number is an empty cell."""
    board = shown.board
    rows = (
        [flat_row(row, board) for row in board.rows]
        if shown.by_task
        else [flat_standing(row, part) for part in board.parts for row in part.rows]
    )
    return csv_text(rows)


def render_json(shown: Leaderboard) -> str:
    """Return the board as one JSON object: what it is of, the overall tables, the rows of single tasks, cautions."""
    board = shown.board
    rows = [flat_row(row, board) for row in board.rows]
    content = {
        "mark": board.mark,
        "seeds": list(board.seeds),
        "reference": board.reference or None,
        "tie": {"relative": board.tolerance.relative, "absolute": board.tolerance.absolute},
        "cells": board.cells,
        "failed": board.failed,
        "skipped": board.skipped,
        "unfinished": board.unfinished,
        "notes": list(shown.notes),
        "cautions": list(board.cautions),
        "commands": [
            {"searchers": list(gap.searchers), "commands": list(gap.commands)} for gap in shown.gap_commands()
        ],
        "tables": [_table(part) for part in board.parts],
        "rows": rows,
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _table(part: Standings) -> dict[str, Any]:
    return {
        "title": part.title,
        "white_boxes": part.white,
        "verdict": part.verdict,
        "notes": list(part.notes),
        "independent": {"unit": part.unit, "number": part.units},
        "cells": part.cells,
        "ran": part.ran,
        "failed": part.failed,
        "skipped": part.skipped,
        "not_run": part.not_run,
        "tasks": [
            {
                "task": view.label,
                "points": view.points,
                "shared": view.shared,
                "searches": view.searches,
                "compared_by": "loss" if view.by_loss else "objective",
            }
            for view in part.tasks
        ],
        "metrics": [
            {
                "label": metric.label,
                "version": metric.identity[1],
                "direction": metric.direction.value,
                "unit": metric.entry.unit if metric.entry else "",
                "denominator": metric.entry.denominator if metric.entry else "",
            }
            for metric in part.metrics
        ],
        "rows": [flat_standing(row, part) for row in part.rows],
        "pairs": [
            {
                "first": part.rows[pair.first].label,
                "second": part.rows[pair.second].label,
                "wins": pair.wins,
                "losses": pair.losses,
                "ties": pair.ties,
                "p": pair.p,
            }
            for pair in part.pairs
        ],
    }
