"""The overall table as markdown, LaTeX, HTML for a notebook, CSV and JSON, all from the same numbers."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cfbench.analysis.notes import spans
from cfbench.analysis.rows import Row
from cfbench.analysis.standings import Standing, Standings
from cfbench.board.columns import (
    LOSS_ALONE,
    SIGNIFICANCE,
    cell_text,
    column_named,
    columns_of,
    marked_label,
    sorted_rows,
    state_text,
)
from cfbench.board.standings_table import about, alike, coverage, notes_of, searches_a_task, tasks_of
from cfbench.board.task_table import columns_for, table_of
from cfbench.board.text import ABSENT
from cfbench.problem.outcome import Status
from cfbench.text import latex_cell, markdown_cell, spreadsheet_cell, visible

if TYPE_CHECKING:
    from cfbench.board.board import Leaderboard

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


def render_markdown(shown: Leaderboard) -> str:
    """Return a leaderboard as markdown: headline, tables, legends, what to know before comparing rows."""
    lines = [f"**{markdown_cell(about(shown.board, shown.record))}**"]
    for grid in grids_of(shown):
        lines += ["", f"{markdown_cell(grid.title)}", "", *_markdown_table(grid), ""]
        lines += [f"- {markdown_cell(term)}: {markdown_cell(meaning)}" for term, meaning in grid.legend]
    notes = notes_of(shown)
    if notes:
        lines += ["", "To know before comparing rows:", "", *(f"- {markdown_cell(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def _markdown_table(grid: Grid) -> list[str]:
    ruler = [*[":--"] * grid.texts, *["--:"] * (len(grid.header) - grid.texts)]
    return [_markdown_line(grid.header), _markdown_line(ruler, escape=False), *map(_markdown_line, grid.rows)]


def _markdown_line(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(markdown_cell(cell) if escape else cell for cell in cells) + " |"


def render_latex(shown: Leaderboard) -> str:
    """Return a leaderboard as LaTeX, a table environment each; notes are comments, so that none is lost unseen."""
    lines = [
        f"% {visible(about(shown.board, shown.record))}",
        "% Needs \\usepackage{booktabs}",
        *(f"% Note: {visible(note)}" for note in notes_of(shown)),
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
    notes = [f"<li>{_escaped(f'Note: {note}')}</li>" for note in notes_of(shown)]
    return "\n".join([*lines, *(["<ul>", *notes, "</ul>"] if notes else [])])


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def _html_line(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{_escaped(cell)}</{tag}>" for cell in cells) + "</tr>"


def flat_standing(row: Standing, part: Standings) -> dict[str, Any]:
    """Return the numbers of a row of an overall table by the names of their columns; None where there is none."""
    low, high = row.interval or (None, None)
    metrics: dict[str, Any] = {}
    for metric in part.metrics:
        score = row.metrics.get(metric.label)
        metrics[metric.label] = score.value if score else None
        metrics[f"{metric.label}_points"] = score.k if score else 0
        metrics[f"{metric.label}_tasks"] = score.tasks if score else 0
    return {
        "table": part.title,
        "position": row.position.number if row.position else None,
        "position_shared": row.position.shared if row.position else None,
        "group": row.group,
        "searcher": row.searcher.name,
        "setup": row.searcher.setup,
        "white_box": row.searcher.white_box,
        "yours": row.searcher.yours,
        "state": row.state.value,
        "why": row.why,
        "searches": row.found.n,
        "searches_found": row.found.k,
        "rank": row.rank,
        "rank_low": low,
        "rank_high": high,
        "wins": row.wins,
        "tasks": len(part.in_play),
        "tasks_complete": row.complete,
        "tasks_loss_alone": row.loss_alone,
        "tie": part.tolerance.relative,
        "basis": part.basis.value,
        "objective_against_best": row.objective.value,
        "loss_against_best": row.loss.value,
        "objective_mean": row.mean_objective.value,
        "loss_mean": row.mean_loss.value,
        "loss_points": row.loss.k,
        "points": row.loss.n,
        "loss_tasks": row.loss.tasks,
        "relative_loss_median": row.relative.value if row.relative else None,
        "relative_loss_points": row.relative.k if row.relative else None,
        "relative_loss_asked": row.relative.n if row.relative else None,
        "seconds_mean": row.spending.seconds,
        "search_queries_mean": row.spending.search_queries,
        "robustness_queries_mean": row.spending.robustness_queries,
        "cells": row.cells,
        "cells_failed": row.failed,
        "cells_skipped": row.skipped,
        "cells_missing": row.missing,
        **{f"status_{status.value}": row.statuses.get(status.value, 0) for status in Status},
        **metrics,
    }


def flat_row(row: Row, reference: str) -> dict[str, Any]:
    """Return the numbers of a searcher on one task by the names of their columns; None where there is none."""
    relative = row.relative
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
        "folds": spans(row.folds),
        "loss_alone": row.loss_alone,
        "cells": row.cells,
        "cells_failed": row.failed,
        "cells_skipped": row.skipped,
        "points_eligible": row.eligible,
        "points": row.success.n,
        "points_found": row.success.k,
        "success_mean": row.success.mean,
        "success_sd": row.success.sd,
        "searches": row.spending.searches,
        "searches_found": row.search_success.k,
        "search_success_mean": row.search_success.mean,
        "search_success_sd": row.search_success.sd,
        "loss_median": row.loss.value,
        "loss_points": row.loss.k,
        "objective_median": row.objective.value,
        "shared_objective_median": row.shared_objective.value,
        "shared_loss_median": row.shared_loss.value,
        "shared_loss_points": row.shared_loss.k,
        "reference": reference,
        "relative_loss_median": relative.value if relative else None,
        "relative_loss_points": relative.k if relative else None,
        "relative_loss_asked": relative.n if relative else None,
        "seconds_mean": row.spending.seconds,
        "search_queries_mean": row.spending.search_queries,
        "robustness_queries_mean": row.spending.robustness_queries,
        **{f"status_{status.value}": row.statuses.get(status.value, 0) for status in Status},
        **metrics,
    }


def render_csv(shown: Leaderboard) -> str:
    """Return what is shown as CSV, a header and a line a row; an absent number is an empty cell."""
    board = shown.board
    rows = (
        [flat_row(row, board.reference) for row in board.rows]
        if shown.by_task
        else [flat_standing(row, part) for part in board.parts for row in part.rows]
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(map(spreadsheet_cell, rows[0]))
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def render_json(shown: Leaderboard) -> str:
    """Return the board as one JSON object: what it is of, the overall tables, the rows of single tasks, cautions."""
    board = shown.board
    rows = [flat_row(row, board.reference) for row in board.rows]
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
                "unit": metric.unit,
                "denominator": metric.denominator,
            }
            for metric in part.metrics
        ],
        "rows": [flat_standing(row, part) for row in part.rows],
        "duels": [
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
