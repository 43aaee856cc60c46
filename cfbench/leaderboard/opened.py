"""The leaderboard of a record, opened and made: alone or beside the published one, by its path or open already."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from cfbench.analysis.board import make_board
from cfbench.analysis.loss_alone import board_cells
from cfbench.analysis.machines import seconds_of_machines
from cfbench.analysis.measurements import measurements_for
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.selection import GroupBy, Selection
from cfbench.analysis.standings import Basis
from cfbench.analysis.unfound import why_unfound
from cfbench.counts import plural
from cfbench.errors import RecordError, StudyError
from cfbench.harness.published import opened_record
from cfbench.harness.store.beside import Beside
from cfbench.harness.store.reading import RecordReading
from cfbench.harness.store.record import Record
from cfbench.leaderboard.shown import Leaderboard
from cfbench.leaderboard.standing_columns import builtin_names, column_named, columns_of, expanded
from cfbench.leaderboard.terminal import show
from cfbench.registry import Registry, RegistryOptions, build_registry

DEFAULT_REFERENCE = "cogs"


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
    on : {"solved-by-all", "own-successes", "own-points"}
        What losses and metrics are averaged over. With "own-points", ranks, too, are over the points alone that your
        searchers have: those of the record next to the published one, or those that `searchers` names.
    tie : float, optional
        Values of one point within this share of the better one, or within a tenth of `tie`, are ties; 0.001 where it is
        left out, 0 for equal values alone.
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
    StudyError
        If `tie` is not a number from 0 to below 1.
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
        tolerance=None if tie is None else Tolerance(tie),
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
    tolerance: Tolerance | None = None,
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
    return leaderboard_of(
        opened_record(results, with_published=with_published),
        registry,
        reference=reference,
        selection=selection,
        columns=columns,
        by=by,
        group_by=group_by,
        basis=basis,
        tolerance=tolerance,
        shown_as=str(results),
    )


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
    """Make the leaderboard of an open record; `open_leaderboard` describes the rest.

    Raises
    ------
    StudyError
        If ranks are to be of the points of the user's own searchers, and nothing says which these are.
    """
    name = shown_as or str(record.origin)
    yours = record.yours if isinstance(record, Beside) else frozenset()
    if basis is Basis.OWN_POINTS and not yours and not (selection and selection.searchers):
        raise StudyError(
            f"--on {basis.value} ranks on the points that your searchers have, and nothing says which are yours: give "
            "--with-published and a record with cells of your own, or name the searchers with --searcher"
        )
    summaries = record.summaries()
    pending = record.pending()
    if not summaries:
        under_way = sum(len(record.done(key)) for key in pending)
        reason = _nothing_finished(Path(name), under_way) if under_way else _nothing(Path(name))
        raise RecordError("\n".join([str(reason), *record.problems]))
    values = record.point_values()
    cells = board_cells(record, registry, values, summaries)
    selected = (selection or Selection()).of(cells.values())
    shown = {cell.info.key for cell in selected}
    names = expanded([*columns, *([by] if by and by not in columns and columns else [])], registry)
    measurements, labels = measurements_for(names, builtin_names(), record, registry, summaries, cells.values(), values)
    board = make_board(
        cells.values(),
        registry,
        reference or DEFAULT_REFERENCE,
        need_reference=reference is not None,
        selection=selection,
        unfinished=sum(key in shown or key not in summaries for key in pending),
        measurements=measurements,
        remarks=[*why_unfound(record, selected), *seconds_of_machines(record)],
        basis=basis,
        tolerance=tolerance,
        group_by=group_by,
        yours=yours,
    )
    if by:
        for part in board.parts:
            column_named(columns_of(part, labels, board.reference), by)
    return Leaderboard(
        board,
        name,
        tuple(labels),
        by,
        tuple(record.problems),
        with_published=isinstance(record, Beside),
        registry=registry,
    )


def print_leaderboard(
    record: Record, registry: Registry, *, stream: TextIO | None = None, command: str = "cfbench"
) -> None:
    """Print the board of a record, as `cfbench run` does at its end.

    A record without the default reference is shown without comparison; one without any finished cell prints a line
    that says so.

    Parameters
    ----------
    record : Record
    registry : Registry
    stream : text stream, optional
        Standard output by default.
    command : str
        What the user types for ``cfbench``.
    """
    try:
        shown = replace(leaderboard_of(record, registry), command=command)
    except RecordError:
        print("no finished cells yet: nothing to show", file=stream or sys.stdout)
        return
    show(shown, stream=stream)


def _nothing_finished(results: Path, searches: int) -> RecordError:
    return RecordError(
        f"there is nothing to show in {results} yet: it holds {plural(searches, 'search')}, but no finished cell. If "
        "its run was stopped, the same `cfbench run` command goes on where it was"
    )


def _nothing(results: Path) -> RecordError:
    return RecordError(
        f"there is nothing to show in {results}: no cell is finished. Run a study first, for a start\n"
        f"  cfbench run --preset quick --results {shlex.quote(str(results))}"
    )
