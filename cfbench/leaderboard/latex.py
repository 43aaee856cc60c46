"""The board as LaTeX tables in the style of booktabs, to be read into a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cfbench.leaderboard.grid import Grid, grids_of
from cfbench.leaderboard.header import about
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.safe import latex_cell, visible

if TYPE_CHECKING:
    from cfbench.leaderboard.shown import Leaderboard


def render_latex(shown: Leaderboard) -> str:
    """Return a leaderboard as LaTeX, a table environment each; notes are comments, so that none is lost unseen."""
    lines = [
        f"% {visible(about(shown.board, shown.record))}",
        "% Needs \\usepackage{booktabs}",
        *(f"% Note: {visible(note)}" for note in notes_of(shown)),
    ]
    for grid in grids_of(shown):
        lines += ["", *_table(grid)]
    return "\n".join(lines) + "\n"


def _table(grid: Grid) -> list[str]:
    legend = " ".join(f"\\emph{{{latex_cell(term)}}}: {latex_cell(meaning)}." for term, meaning in grid.legend)
    return [
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{latex_cell(grid.title)}. {legend}}}",
        f"\\begin{{tabular}}{{{'l' * grid.texts}{'r' * (len(grid.header) - grid.texts)}}}",
        "\\toprule",
        _line(grid.header),
        "\\midrule",
        *map(_line, grid.rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table}",
    ]


def _line(cells: tuple[str, ...]) -> str:
    return " & ".join(map(latex_cell, cells)) + " \\\\"
