"""The leaderboard of a record as an object: text in a terminal, a table in a notebook, a data frame for more."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cfbench.analysis.board import Board, make_board
from cfbench.analysis.measurements import measurements_for
from cfbench.analysis.selection import GroupBy, Selection
from cfbench.analysis.standings import Basis
from cfbench.errors import RecordError
from cfbench.harness.published import published_record
from cfbench.harness.store.beside import Beside
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.record import Record
from cfbench.leaderboard.formats import render
from cfbench.leaderboard.lines import Line
from cfbench.leaderboard.notes import notes_of
from cfbench.leaderboard.standing_columns import builtin_names, column_named, columns_of, expanded
from cfbench.leaderboard.standings_table import standings_lines
from cfbench.leaderboard.tabular import flat_row, flat_standing
from cfbench.leaderboard.task_table import task_lines
from cfbench.leaderboard.terminal import show, text_of
from cfbench.registry import Registry, RegistryOptions, build_registry

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_REFERENCE = "cogs"

PIPED_WIDTH = 100
"""Columns of the plain text that goes into a file or another program."""


@dataclass(frozen=True)
class Leaderboard:
    """A record's leaderboard. ``print`` it, let a notebook show it, or compute with :meth:`to_frame`.

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
    registry : Registry
        What names metrics and data sets; by default, what is installed.
    """

    board: Board
    record: str
    columns: tuple[str, ...] = ()
    by: str = ""
    problems: tuple[str, ...] = ()
    with_published: bool = False
    registry: Registry = field(default_factory=build_registry)

    @property
    def by_task(self) -> bool:
        """Whether what is shown are the tables of single tasks, not overall ones."""
        return self.board.group_by is GroupBy.TASK and not self.columns and not self.by

    def lines(self, width: int | None = None) -> list[Line]:
        """Lay it out in lines of text.

        Parameters
        ----------
        width : int, optional
            Of the terminal, at most. Without it, as for a file, columns that were asked for are never left out.
        """
        keep_all, width = width is None and bool(self.columns), width or PIPED_WIDTH
        if self.by_task:
            return task_lines(self.board, self.record, width)
        return standings_lines(
            self.board,
            self.record,
            width,
            names=self.columns,
            by=self.by,
            notes=notes_of(self),
            keep_all=keep_all,
        )

    def render(self, form: str) -> str:
        """Return it as text in one of the formats of ``--format``."""
        return render(self, form)

    def to_frame(self) -> pd.DataFrame:
        """Return every number of single tasks, unrounded: a row for each task and searcher.

        The columns are those of ``--group-by task --format csv``.
        """
        import pandas as pd

        return pd.DataFrame([flat_row(row, self.board.reference) for row in self.board.rows])

    def overall(self) -> pd.DataFrame:
        """Return every number of the overall tables, unrounded, a row for each searcher, as ``--format csv`` does."""
        import pandas as pd

        return pd.DataFrame([flat_standing(row, part) for part in self.board.parts for row in part.rows])

    def __str__(self) -> str:
        return text_of(self.lines()).rstrip("\n")

    def _repr_markdown_(self) -> str:
        return self.render("markdown")

    def _repr_html_(self) -> str:
        from cfbench.leaderboard.notebook import notebook_html

        return notebook_html(self)


def leaderboard(
    results: Path | str = "results",
    *,
    reference: str | None = None,
    datasets: Collection[str] = (),
    models: Collection[str] = (),
    objectives: Collection[str] = (),
    searchers: Collection[str] = (),
    constraints: bool | None = None,
    columns: Sequence[str] = (),
    by: str = "",
    group_by: str = "",
    on: str = "solved-by-all",
    with_published: bool = False,
    plugins: Collection[str] = (),
) -> Leaderboard:
    """Return the leaderboard of a record, as ``cfbench leaderboard`` shows it; nothing is searched or fitted.

    Parameters
    ----------
    results : path
        The record's directory.
    reference : str, optional
        The searcher whose loss the others are compared with; CoGS, where the record has it.
    datasets, models, objectives, searchers : collection of str
        What to show; everything where empty. Ranks are computed among the searchers that are shown.
    constraints : bool, optional
        Tasks with constraints on, or off, alone.
    columns : sequence of str
        Columns of the overall table, metrics by their names among them.
    by : str
        The column to sort by.
    group_by : {"", "dataset", "model", "objective", "constraints", "task"}
        A table for each; ranks are computed anew.
    on : {"solved-by-all", "own-successes"}
        What losses and metrics are averaged over.
    with_published : bool
        Show the record beside the published one; what cannot be compared is left out with a warning.
    plugins : collection of str
        Modules and paths of .py files to register, for their metrics.

    Returns
    -------
    Leaderboard

    Raises
    ------
    RecordError
        If there is no record, or nothing in it is finished.
    UnknownNameError
        If something asked for is not in the record.
    """
    shown = open_leaderboard(
        Path(results),
        build_registry(RegistryOptions(plugins=tuple(plugins))),
        reference=reference,
        selection=Selection(datasets, models, objectives, constraints, searchers=searchers),
        columns=columns,
        by=by,
        group_by=GroupBy(group_by),
        basis=Basis(on),
        with_published=with_published,
    )
    for problem in shown.problems:
        warnings.warn(problem, stacklevel=2)
    return shown


def open_leaderboard(
    results: Path,
    registry: Registry,
    *,
    reference: str | None = None,
    selection: Selection | None = None,
    columns: Sequence[str] = (),
    by: str = "",
    group_by: GroupBy = GroupBy.NOTHING,
    basis: Basis = Basis.SOLVED_BY_ALL,
    with_published: bool = False,
) -> Leaderboard:
    """Open a record and make its leaderboard; what the command and the function do alike.

    Raises
    ------
    RecordError
        If there is no record, or nothing in it is finished.
    UnknownNameError
        If something asked for is not in the record.
    """
    if not results.is_dir():
        raise _nothing(results)
    return leaderboard_of(
        opened_record(results, with_published=with_published),
        registry,
        reference=reference,
        selection=selection,
        columns=columns,
        by=by,
        group_by=group_by,
        basis=basis,
        shown_as=str(results),
    )


def opened_record(results: Path, *, with_published: bool = False) -> RecordReading:
    """Open a record for reading, alone or beside the published one.

    Raises
    ------
    RecordError
        If there is none, or nothing in it can be held against the published one.
    UnavailableError
        If this installation came without the published one.
    """
    own = Record.open(results)
    return Beside(own, Record.open(published_record())) if with_published else own


def leaderboard_of(
    record: RecordReading,
    registry: Registry,
    *,
    reference: str | None = None,
    selection: Selection | None = None,
    columns: Sequence[str] = (),
    by: str = "",
    group_by: GroupBy = GroupBy.NOTHING,
    basis: Basis = Basis.SOLVED_BY_ALL,
    shown_as: str = "",
) -> Leaderboard:
    """Make the leaderboard of an open record; `open_leaderboard` describes the rest."""
    name = shown_as or str(record.path)
    summaries = record.summaries()
    pending = record.pending()
    if not summaries:
        under_way = sum(len(record.done(key)) for key in pending)
        reason = _nothing_finished(Path(name), under_way) if under_way else _nothing(Path(name))
        raise RecordError("\n".join([str(reason), *record.problems]))
    shown = {cell.info.key for cell in (selection or Selection()).of(summaries.values())}
    names = expanded([*columns, *([by] if by and by not in columns and columns else [])])
    measurements, labels = measurements_for(names, builtin_names(), record, registry, summaries)
    board = make_board(
        summaries.values(),
        registry,
        reference or DEFAULT_REFERENCE,
        need_reference=reference is not None,
        selection=selection,
        unfinished=sum(key in shown or key not in summaries for key in pending),
        measurements=measurements,
        basis=basis,
        group_by=group_by,
    )
    if by:
        for part in board.parts:
            column_named(columns_of(part, labels, board.reference), by)
    return Leaderboard(board, name, tuple(labels), by, tuple(record.problems), isinstance(record, Beside), registry)


def print_leaderboard(record: Record, registry: Registry, *, stream: TextIO | None = None) -> None:
    """Print the board of a record, as `cfbench run` does at its end.

    A record without the default reference is shown without comparison; one without any finished cell prints a line
    that says so.

    Parameters
    ----------
    record : Record
    registry : Registry
    stream : text stream, optional
        Standard output by default.
    """
    try:
        shown = leaderboard_of(record, registry)
    except RecordError:
        print("no finished cells yet: nothing to show", file=stream or sys.stdout)
        return
    show(shown, stream=stream)


def _nothing_finished(results: Path, searches: int) -> RecordError:
    held = f"{searches:,} {'search' if searches == 1 else 'searches'}"
    return RecordError(
        f"there is nothing to show in {results} yet: it holds {held}, but no finished cell. If its run was stopped, "
        "the same `cfbench run` command goes on where it was"
    )


def _nothing(results: Path) -> RecordError:
    return RecordError(
        f"there is nothing to show in {results}: no cell is finished. Run a study first, for a start\n"
        f"  cfbench run --preset quick --results {shlex.quote(str(results))}"
    )
