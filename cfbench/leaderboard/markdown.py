"""The board as a markdown table, to paste into an issue or a paper's supplement."""

from __future__ import annotations

from collections.abc import Sequence

from cfbench.analysis.board import Board
from cfbench.analysis.cautions import spans
from cfbench.leaderboard.columns import ABSENT, columns_for, headline, table_of
from cfbench.leaderboard.safe import markdown_cell

TASK_COLUMNS = ("data set", "model", "objective", "constraints", "folds")


def render_markdown(board: Board, record: str) -> str:
    """Return the board as markdown: headline, table, legend, cautions.

    Parameters
    ----------
    board : Board
    record : str
        How the record is called in the headline.
    """
    columns = columns_for(board)
    titles = [f"{column.title} ({column.unit})" if column.unit else column.title for column in columns]
    header = [*TASK_COLUMNS, *(title.strip() for title in titles)]
    ruler = [*[":--"] * (len(TASK_COLUMNS) + 1), *["--:"] * (len(columns) - 1)]
    lines = [f"**{markdown_cell(headline(board, record))}**", "", _line(header), _line(ruler, escape=False)]
    for row, cells in zip(board.rows, table_of(board.rows, columns), strict=True):
        task, folds = row.task, spans(row.folds) or ABSENT
        constraints = "on" if task.constraints else "off"
        lines.append(_line([task.dataset, task.model, task.objective, constraints, folds, *cells]))
    lines.append("")
    lines += [f"- {markdown_cell(column.title)}: {markdown_cell(column.legend)}" for column in columns if column.legend]
    if board.cautions:
        lines += ["", "To know before comparing rows:", ""]
        lines += [f"- {markdown_cell(caution)}" for caution in board.cautions]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str], *, escape: bool = True) -> str:
    return "| " + " | ".join(markdown_cell(cell) if escape else cell for cell in cells) + " |"
