"""The board's numbers for programs: CSV and JSON, a flat row each, nothing rounded."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from cfbench.analysis.cautions import spans
from cfbench.analysis.rows import Row
from cfbench.analysis.standings import Standing, Standings
from cfbench.leaderboard.safe import spreadsheet_cell
from cfbench.outcome import Status

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard


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
        "searcher": row.entrant.searcher,
        "setup": row.entrant.setup,
        "white_box": row.entrant.white_box,
        "yours": row.entrant.yours,
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
                "first": part.rows[duel.first].label,
                "second": part.rows[duel.second].label,
                "wins": duel.wins,
                "losses": duel.losses,
                "ties": duel.ties,
                "p": duel.p,
            }
            for duel in part.duels
        ],
    }
