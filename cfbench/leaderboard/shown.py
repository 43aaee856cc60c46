"""A leaderboard as an object: text in a terminal, a table in a notebook, a data frame for more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cfbench.analysis.board import Board
from cfbench.analysis.selection import GroupBy
from cfbench.leaderboard.formats import render
from cfbench.leaderboard.gap_commands import GapCommand, gap_commands
from cfbench.leaderboard.lines import Line
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.standings_table import standings_lines
from cfbench.leaderboard.tabular import flat_row, flat_standing
from cfbench.leaderboard.task_table import task_lines
from cfbench.leaderboard.terminal import text_of
from cfbench.registry import Registry, build_registry

if TYPE_CHECKING:
    import pandas as pd

PIPED_WIDTH = 100
"""Columns of the plain text that goes into a file or another program."""


@dataclass(frozen=True, repr=False)
class Leaderboard:
    """A record's leaderboard. A shell and ``print`` show its table, a notebook, too; :meth:`to_frame` computes with it.

    Parameters
    ----------
    board : Board
        The numbers.
    record : str
        What the record is called in the headline.
    columns : tuple of str
        The columns of the overall tables; the default ones where empty.
    by : str
        The column that overall tables are sorted by; the rank where empty.
    problems : tuple of str
        What of the record could not be read.
    with_published : bool
        Whether the record stands beside the published one.
    all_notes : bool
        Whether text shows every note in full; otherwise the first few, a line each.
    command : str
        What the user types for ``cfbench``, for the commands that the board names.
    registry : Registry
        What names metrics and data sets; by default, what is installed.
    """

    board: Board
    record: str
    columns: tuple[str, ...] = ()
    by: str = ""
    problems: tuple[str, ...] = ()
    with_published: bool = False
    all_notes: bool = False
    command: str = "cfbench"
    registry: Registry = field(default_factory=build_registry)

    @property
    def by_task(self) -> bool:
        """Whether what is shown are the tables of single tasks, not overall ones."""
        return self.board.group_by is GroupBy.TASK and not self.columns and not self.by

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before comparing rows, the most important first."""
        return tuple(notes_of(self))

    def lines(self, width: int | None = None) -> list[Line]:
        """Lay it out in lines of text.

        Parameters
        ----------
        width : int, optional
            Of the terminal, at most. Without it, as for a file, columns that were asked for are never left out.
        """
        keep_all, width = width is None and bool(self.columns), width or PIPED_WIDTH
        if self.by_task:
            return task_lines(self.board, self.record, width, all_notes=self.all_notes)
        return standings_lines(
            self.board,
            self.record,
            width,
            names=self.columns,
            by=self.by,
            notes=self.notes,
            keep_all=keep_all,
            all_notes=self.all_notes,
            gaps=self.gap_commands(),
        )

    def gap_commands(self) -> list[GapCommand]:
        """Return the commands after which searchers are ranked that are not ranked now."""
        return gap_commands(self)

    def render(self, form: str) -> str:
        """Return it as text in one of the formats of ``--format``."""
        return render(self, form)

    def to_frame(self) -> pd.DataFrame:
        """Return every number of single tasks, unrounded: a row for each task and searcher.

        The columns are those of ``--group-by task --format csv``; each metric that the board shows has its mean over
        points, and the number of points that have a value.
        """
        import pandas as pd

        return pd.DataFrame([flat_row(row, self.board.reference) for row in self.board.rows])

    def overall(self) -> pd.DataFrame:
        """Return every number of the overall tables, unrounded, a row for each searcher, as ``--format csv`` does."""
        import pandas as pd

        return pd.DataFrame([flat_standing(row, part) for part in self.board.parts for row in part.rows])

    def __str__(self) -> str:
        return text_of(self.lines()).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        return self.render("markdown")

    def _repr_html_(self) -> str:
        from cfbench.leaderboard.notebook import notebook_html

        return notebook_html(self)
