"""A leaderboard as an object: opened from a record, shown as text, as a data frame, in a notebook, as a file."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cfbench.analysis.board import Board, make_board
from cfbench.analysis.groups import GroupBy, Selection
from cfbench.analysis.loss_alone import board_cells
from cfbench.analysis.measured import measurements_for
from cfbench.analysis.notes import Note, NoteKind, in_order, seconds_of_machines, why_unfound
from cfbench.analysis.published import CombinedRecord, opened_record
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.references import PointResults
from cfbench.analysis.standings import Basis
from cfbench.board.columns import Number, column_named, columns_of, expanded, names_without_metrics, numbers_of
from cfbench.board.counterfactuals import counterfactual_frame
from cfbench.board.gap_commands import GapCommand, gap_commands
from cfbench.board.standings_table import standings_lines
from cfbench.board.tabular import (
    flat_row,
    flat_standing,
    notebook_html,
    render_csv,
    render_json,
    render_latex,
    render_markdown,
)
from cfbench.board.task_table import task_lines
from cfbench.board.text import StyledLine, show, text_of
from cfbench.errors import CfbenchError, RecordError, StudyError, UnknownNameError
from cfbench.files import write_atomically
from cfbench.record.files import refuse_inside_record
from cfbench.record.reading import RecordReading
from cfbench.record.store import Record
from cfbench.registry.registry import Registry, build_registry, registry_with
from cfbench.text import plural

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

FORMATS = ("table", "markdown", "csv", "json", "latex", "html")
"""A further format is a name here and a case in `Leaderboard.render`."""


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
        Whether the record is shown next to the published one.
    all_notes : bool
        Whether text shows every note in full; otherwise the first few, a line each.
    command : str
        What the user types for ``cfbench``, for the commands that the board names.
    registry : Registry
        What names metrics and data sets; by default, what is installed.
    reading : RecordReading or None
        The open record, if the page need not open it a second time.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
    ...     board = result.leaderboard()
    >>> board.overall()[["searcher", "searches_found", "searches"]].values.tolist()
    [['nearest-unlike', 3, 3]]
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
    reading: RecordReading | None = field(default=None, compare=False)

    @property
    def by_task(self) -> bool:
        """Whether what is shown are the tables of single tasks, not overall ones."""
        return self.board.group_by is GroupBy.TASK and not self.columns and not self.by

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before comparing rows, the most important first: why no searcher is ranked, what is missing."""
        if self.by_task:
            return self.board.cautions
        found: list[Note] = []
        for part in self.board.parts:
            verdict = [Note(NoteKind.NO_RANKS, part.verdict)] if part.verdict else []
            found += [note.under(part.title) for note in (*verdict, *part.notes)]
        return tuple(in_order([*found, *self.board.cautions]))

    def lines(self, width: int | None = None) -> list[StyledLine]:
        """Lay it out in lines of text.

        Parameters
        ----------
        width : int, optional
            Of the terminal, at most. Without it, as for a file, columns that were asked for are never left out.
        """
        keep_all, width = width is None and bool(self.columns), width or PIPED_WIDTH
        if self.by_task:
            return task_lines(self, width)
        return standings_lines(self, width, keep_all=keep_all)

    def gap_commands(self) -> list[GapCommand]:
        """Return the commands after which searchers are ranked that are not ranked now."""
        return gap_commands(self)

    def render(self, form: str) -> str:
        """Return it as text in one of the formats of ``--format``.

        Raises
        ------
        UnknownNameError
            If there is no such format.
        """
        if form == "table":
            return f"{self}\n"
        if form == "html":
            from cfbench.board.page.render import page_of  # loads Jinja

            return page_of(self)
        writers = {"markdown": render_markdown, "csv": render_csv, "json": render_json, "latex": render_latex}
        if form not in writers:
            raise UnknownNameError("format", form, FORMATS)
        return writers[form](self)

    def to_frame(self) -> pd.DataFrame:
        """Return every number of single tasks, unrounded: a row for each task and searcher.

        The columns are those of ``--group-by task --format csv``; each metric that the board shows has its mean over
        points, and the number of points that have a value.
        """
        import pandas as pd

        return pd.DataFrame([flat_row(row, self.board) for row in self.board.rows])

    def overall(self) -> pd.DataFrame:
        """Return every number of the overall tables, unrounded, a row for each searcher, as ``--format csv`` does."""
        import pandas as pd

        return pd.DataFrame([flat_standing(row, part) for part in self.board.parts for row in part.rows])

    def counterfactuals(
        self, metrics: Sequence[str] = ("robustness",), *, data_dirs: Iterable[Path | str] = ()
    ) -> pd.DataFrame:
        """Return what was found, in the units and labels of the data sets: a row for each feature of each result.

        A point's result is its repetition with the smallest objective value. The results are those of all tasks and
        searchers that the board shows.

        Parameters
        ----------
        metrics : sequence of str
            Metrics, or groups of metrics as for ``--columns``, that get a column each. Those that the record does not
            hold have no column; ``cfbench measure`` adds them.
        data_dirs : iterable of path
            Folders with tables that are not shipped, as for `cfbench.run`.

        Returns
        -------
        DataFrame
            `dataset`, `model`, `searcher`, `objective`, `constraints`, `fold`, `point`, `row_id`, `repetition`,
            `target`; then `feature`, `factual`, `counterfactual`, `changed` and `unit`; then `loss`,
            `objective_value`, and the metrics. Results of data sets that are not at hand are left out with a warning.

        Examples
        --------
        >>> import tempfile
        >>> import cfbench
        >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
        ...     found = result.counterfactuals()
        >>> sorted(set(found["unit"]))[:2], found["changed"].dtype.name
        (['', 'g/l'], 'bool')
        """
        cells = [cell for task in self.board.matrix.tasks for group in task.groups.values() for cell in group.cells]
        return counterfactual_frame(cells, self._record(), self.registry, metrics, [*map(Path, data_dirs)])

    def plot(self, *names: str) -> NDArray[np.object_]:
        """Draw the figures of the leaderboard's page with matplotlib.

        Parameters
        ----------
        *names : str
            What to draw, in this order; all figures if empty. ``"effort"``: the loss, or the objective value, against
            queries. ``"ranks"``: mean ranks with their intervals. ``"ranks-by-part"``: mean ranks by data set.
            ``"progress"``: the share of targets reached over queries. ``"loss-against-METRIC"``: the loss against a
            metric that every board shows.

        Returns
        -------
        ndarray of matplotlib.axes.Axes, shape (n,)
            One per figure. ``axes[0].figure.savefig("board.png")`` writes the picture.

        Raises
        ------
        UnknownNameError
            If the board has no such figure. Most figures need two ranked searchers.

        Examples
        --------
        >>> import tempfile
        >>> import cfbench
        >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
        ...     axes = result.leaderboard().plot("progress")
        >>> axes[0].get_xlabel()
        'queries'
        """
        from cfbench.board.page.evidence import gather
        from cfbench.board.page.figures import page_figures
        from cfbench.board.plots import plot_figures  # loads matplotlib

        figures = {
            one.name: one for one in page_figures(self.board, gather(self.board.matrix, self._record()).progress)
        }
        for name in names:
            if name not in figures:
                raise UnknownNameError("figure", name, figures)
        if not figures:
            raise CfbenchError(f"there is nothing to draw: no search of {self.record} has found anything")
        return plot_figures([figures[name] for name in names or figures])

    def _record(self) -> RecordReading:
        return self.reading or opened_record(Path(self.record), with_published=self.with_published)

    def numbers(self) -> list[Number]:
        """Describe every number of :meth:`overall`: its column and group, and which values are better."""
        return numbers_of(self.board.standings)

    def __str__(self) -> str:
        return text_of(self.lines()).rstrip("\n")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
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
    tie: float | None = None,
    with_published: bool = False,
    plugins: Iterable[object] = (),
) -> Leaderboard:
    """Return the leaderboard of a record, as ``cfbench leaderboard`` shows it; nothing is searched or fitted.

    Parameters
    ----------
    results : path
        The record's directory.
    reference : str, optional
        The searcher whose loss the others are compared with. By default that of the study that was run last, or of the
        starting preset, where the record has it.
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
    on : {"solved-by-all", "own-successes", "own-points"}
        What losses and metrics are averaged over. With "own-points", ranks, too, are over the points alone that your
        searchers have: those of the record next to the published one, or those that `searchers` names.
    tie : float, optional
        Values of one point within this share of the better one, or within a tenth of `tie`, are ties; 0.001 where it is
        left out, 0 for equal values alone.
    with_published : bool
        Show the record next to the published one; what cannot be compared is left out with a warning.
    plugins : iterable
        What to register, as for `cfbench.run`: for metrics, and for the data sets of counterfactuals.

    Returns
    -------
    Leaderboard

    Raises
    ------
    RecordError
        If there is no record, or nothing in it is finished.
    UnknownNameError
        If something asked for is not in the record.
    StudyError
        If `tie` is not a number from 0 to below 1.

    Examples
    --------
    >>> import tempfile
    >>> import cfbench
    >>> study = {"datasets": ["wine"], "models": ["random-forest"], "searchers": ["nearest-unlike"], "folds": [0]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = cfbench.run(study, points=3, repetitions=1, tracking="none", results=folder)
    ...     board = cfbench.leaderboard(folder, columns=["success", "loss"])
    >>> board.to_frame()[["dataset", "searcher", "points_found"]].values.tolist()
    [['wine', 'nearest-unlike', 3]]
    """
    shown = leaderboard_of(
        opened_record(Path(results), with_published=with_published),
        plugins if isinstance(plugins, Registry) else registry_with(plugins),
        reference=reference,
        selection=Selection(datasets, models, objectives, constraints, searchers=searchers),
        columns=columns,
        by=by,
        group_by=GroupBy(group_by),
        basis=Basis(on),
        tolerance=None if tie is None else Tolerance(tie),
        shown_as=str(results),
    )
    for problem in shown.problems:
        warnings.warn(problem, stacklevel=2)
    return shown


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
    tolerance: Tolerance | None = None,
    shown_as: str = "",
) -> Leaderboard:
    """Make the leaderboard of an open record; `leaderboard` describes the parameters.

    Raises RecordError if nothing in the record is finished. Raises UnknownNameError if something to show is not in the
    record. Raises StudyError if ranks are to be of the points of the user's own searchers, and nothing says which these
    are.
    """
    name = shown_as or str(record.path)
    yours = record.yours if isinstance(record, CombinedRecord) else frozenset()
    if basis is Basis.OWN_POINTS and not yours and not (selection and selection.searchers):
        raise StudyError(
            f"--on {basis.value} ranks on the points that your searchers have, and nothing says which are yours: give "
            "--with-published and a record with cells of your own, or name the searchers with --searcher"
        )
    summaries = record.summaries()
    pending = record.pending()
    if not summaries:
        under_way = sum(len(record.done(key)) for key in pending)
        reason = (
            f"there is nothing to show in {name} yet: it holds {plural(under_way, 'search')}, but no finished cell. If "
            "its run was stopped, the same `cfbench run` command goes on where it was"
            if under_way
            else f"there is nothing to show in {name}: no cell is finished. Run a study first, for a start\n"
            f"  cfbench run --results {shlex.quote(name)}"
        )
        raise RecordError("\n".join([reason, *record.problems]))
    values = record.point_values()
    results = PointResults(record, registry, values=values)
    cells = board_cells(record, registry, values, summaries)
    selected = (selection or Selection()).of(cells.values())
    shown = {cell.info.key for cell in selected}
    names = expanded([*columns, *([by] if by and by not in columns and columns else [])], registry)
    measurements, labels = measurements_for(
        names, names_without_metrics(registry), record, registry, summaries, cells.values(), results
    )
    board = make_board(
        cells.values(),
        registry,
        reference or record.notes().get("reference") or registry.reference,
        need_reference=reference is not None,
        selection=selection,
        unfinished=sum(key in shown or key not in summaries for key in pending),
        measurements=measurements,
        remarks=[*why_unfound(record, selected), *seconds_of_machines(record)],
        basis=basis,
        tolerance=tolerance,
        group_by=group_by,
        yours=yours,
        results=results,
    )
    if by:
        for part in board.parts:
            column_named(columns_of(part, labels), by)
    return Leaderboard(
        board,
        name,
        tuple(labels),
        by,
        tuple(record.problems),
        with_published=isinstance(record, CombinedRecord),
        registry=registry,
        reading=record,
    )


def print_leaderboard(
    record: Record, registry: Registry, *, stream: TextIO | None = None, command: str = "cfbench"
) -> None:
    """Print the board of a record, as `cfbench run` does at its end.

    A record without the default reference is shown without comparison; one without any finished cell prints a line
    that says so.
    """
    try:
        shown = replace(leaderboard_of(record, registry), command=command)
    except RecordError:
        print("no finished cells yet: nothing to show", file=stream or sys.stdout)
        return
    show(shown, stream=stream)


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before the work for it is done.

    Raises CfbenchError if its folder is missing or may not be written, the file may not be replaced, or it lies in a
    record.
    """
    refuse_inside_record(path)
    if not path.parent.is_dir():
        raise CfbenchError(f"{path} cannot be written: {path.parent} is no folder; make it, or name another file")
    if path.is_dir():
        raise CfbenchError(f"{path} cannot be written: it is a folder; name a file in it")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CfbenchError(f"{path} cannot be written: {path.parent} may not be written to; name a file elsewhere")


def write_output(text: str, path: Path) -> None:
    """Replace a file by `text`, as a whole or not at all. Raises CfbenchError if it cannot be written."""
    try:
        if path.exists() and not path.is_file():  # a pipe or a device takes what it is given
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise CfbenchError(
            f"{path} cannot be written: {error.strerror or error}; name a file in a folder that exists and that you "
            "may write to"
        ) from error
