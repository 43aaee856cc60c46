"""The board's numbers for programs: CSV and JSON, a flat row each, nothing rounded."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from cfbench.analysis.board import Board
from cfbench.analysis.cautions import spans
from cfbench.analysis.rows import Row
from cfbench.leaderboard.safe import spreadsheet_cell
from cfbench.outcome import Status


def flat(row: Row, reference: str) -> dict[str, Any]:
    """Return the numbers of a row by the names of their columns; None where there is none."""
    relative = row.relative
    return {
        "dataset": row.task.dataset,
        "model": row.task.model,
        "objective": row.task.objective,
        "constraints": row.task.constraints,
        "searcher": row.searcher,
        "setup": row.setup,
        "white_box": row.white_box,
        "folds": spans(row.folds),
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
    }


def render_csv(board: Board) -> str:
    """Return the board as CSV, a header and a line a row; an absent number is an empty cell."""
    rows = [flat(row, board.reference) for row in board.rows]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    writer.writerows([spreadsheet_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def render_json(board: Board) -> str:
    """Return the board as one JSON object: reference, counts of cells, cautions, rows."""
    content = {
        "reference": board.reference or None,
        "cells": board.cells,
        "failed": board.failed,
        "skipped": board.skipped,
        "cautions": list(board.cautions),
        "rows": [flat(row, board.reference) for row in board.rows],
    }
    return json.dumps(content, indent=2, allow_nan=False) + "\n"
