"""The board: every number of every rendering, from the record's indexes alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from cfbench.analysis.aggregate import Median, Rate, Spending, median_of, rate, spending, statuses
from cfbench.analysis.comparison import Relatives, relative_metrics, resolve_reference
from cfbench.analysis.groups import (
    Group,
    GroupBy,
    Point,
    Selection,
    Task,
    bare_name,
    group_cells,
    is_white_box,
    lacks_values,
)
from cfbench.analysis.loss_alone import record_key
from cfbench.analysis.measured import Measurements, measured_in_part
from cfbench.analysis.notes import Note, NoteKind, cautions, compared_by_loss, in_order, notes_as
from cfbench.analysis.overall import make_standings
from cfbench.analysis.ranks import Tolerance
from cfbench.analysis.references import PointResults
from cfbench.analysis.result_matrix import ComparedSearcher, ResultMatrix, make_result_matrix
from cfbench.analysis.standings import Basis, Standings
from cfbench.digests import digest_of
from cfbench.errors import UnknownNameError
from cfbench.record.cells import CellSummary
from cfbench.registry.registry import Registry
from cfbench.space.space import FloatArray


@dataclass(frozen=True)
class Row:
    """A searcher on a task."""

    task: Task
    searcher: str
    setup: str  # what else tells it from other rows of that label; mostly empty
    white_box: bool  # whether the searcher uses the model's structure
    folds: tuple[int, ...]  # the folds with results
    eligible: int  # points of those folds with another class than the target
    success: Rate  # of points
    search_success: Rate  # of single searches
    loss: Median  # over the points that this searcher solved, as `objective`
    shared_loss: Median  # over the points that all searchers of the task solved
    objective: Median
    shared_objective: Median
    # By the name of a comparison metric: against the reference; empty for the reference and if there is none
    relative: Mapping[str, Median]
    is_reference: bool
    spending: Spending
    statuses: dict[str, int]  # how many searches ended in which status
    cells: int
    failed: int  # cells whose last run failed
    skipped: int
    # By the metric's label: mean over the results of the points that have a value, and their number
    metrics: Mapping[str, tuple[float | None, int]] = field(default_factory=dict)
    yours: bool = False  # whether its results are the user's own, shown next to the published ones
    # Whether its results were searched for the loss alone, and judged under the task's objective
    loss_alone: bool = False
    not_run_here: bool = False  # whether its results were made elsewhere and judged from a file

    @property
    def label(self) -> str:
        """The searcher as readers see it."""
        return ComparedSearcher(self.searcher, self.setup, self.white_box, self.yours, self.not_run_here).label


@dataclass(frozen=True, repr=False)
class Board:
    """All that a rendering shows."""

    standings: Standings  # over all tasks
    # The tables that are shown: one, or one for each part that the board is divided into. Where white boxes are
    # ranked among themselves, their table follows that of the black boxes (`Standings.white` tells which it is).
    parts: tuple[Standings, ...]
    group_by: GroupBy  # by what it is divided
    # The cells behind them: every task with all searchers that ran on it, in the order of `standings.tasks`
    matrix: ResultMatrix
    relatives: Relatives  # comparisons with the reference searcher
    white_boxes: frozenset[str]  # names of the searchers that use the model's structure
    reference: str  # label of the reference searcher; empty where there is none
    cells: int
    failed: int  # cells whose last run failed
    skipped: int
    unfinished: int  # cells with searches that are in no number yet
    seeds: tuple[int, ...]  # the seeds of the studies
    mark: str  # digest of the cells' keys: equal for boards of the same cells
    # What a reader should know before comparing rows, except the complaints of comparison metrics
    said: tuple[Note, ...]
    measurements: Measurements = field(default_factory=Measurements)  # the metrics that are shown
    # Keys of the cells that are the user's own, where these are shown next to published ones
    yours: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<Board {self.mark[:7]}: {len(self.standings.rows)} searchers, {len(self.standings.tasks)} tasks>"

    @property
    def tolerance(self) -> Tolerance:
        """How far apart values may be that count as equal."""
        return self.standings.tolerance

    @property
    def white_standings(self) -> Standings | None:
        """The white boxes' own table, over all tasks that each of them can do.

        None where fewer than two white boxes have results on such tasks, and on a board in parts, whose tables are in
        `parts`. White boxes without a table of their own are lines of reference in the main one.
        """
        if self.group_by is not GroupBy.NOTHING:
            return None
        return next((part for part in self.parts if part.white), None)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every searcher on every task, task by task."""
        tasks: dict[Task, list[Group]] = defaultdict(list)
        for task in self.matrix.tasks:
            tasks[task.key] += task.groups.values()
        return tuple(
            row
            for groups in tasks.values()
            for row in _rows_of_task(groups, self.relatives, self.white_boxes, self.measurements, self.yours)
        )

    @property
    def cautions(self) -> tuple[Note, ...]:
        """What a reader should know before comparing rows, by importance.

        What a comparison metric did wrong is among it once it was computed.
        """
        return tuple(in_order([*self.said, *notes_as(NoteKind.REFERENCE, self.relatives.complaints)]))

    def by_task(self) -> dict[Task, list[Row]]:
        """The rows of each task, in order."""
        tasks: dict[Task, list[Row]] = defaultdict(list)
        for row in self.rows:
            tasks[row.task].append(row)
        return dict(tasks)


def make_board(
    summaries: Iterable[CellSummary],
    registry: Registry,
    reference: str | None = None,
    *,
    need_reference: bool = True,
    selection: Selection | None = None,
    unfinished: int = 0,
    measurements: Measurements | None = None,
    remarks: Iterable[str] = (),
    basis: Basis = Basis.SOLVED_BY_ALL,
    group_by: GroupBy = GroupBy.NOTHING,
    yours: Collection[str] = (),
    tolerance: Tolerance | None = None,
    results: PointResults | None = None,
) -> Board:
    """Compute the board of a record. `results` reads the record for metrics that compare more than its summaries.

    Raises UnknownNameError if something asked for is not in the record. Raises RecordError if the cells are of several
    versions of the protocol.
    """
    measurements = measurements or Measurements()
    reference = registry.reference if reference is None else reference
    cells = (selection or Selection()).of(summaries)
    groups = group_cells(cells)
    notes: list[str] = []
    if unfinished:
        text = f"unfinished cells, whose searches under way are in no number yet: {unfinished:,}"
        notes.append(Note(NoteKind.UNFINISHED, text))
    try:
        label = resolve_reference(reference, groups)
    except UnknownNameError as error:
        if need_reference:
            raise
        label = ""
        if any(bare_name(group.searcher) == reference for group in groups):
            notes.append(f"nothing to compare with: {error}")
    white_boxes = frozenset(name for name, found in registry.searchers.items() if found.entry.is_white_box)
    compared = relative_metrics(registry, measurements.variants)
    relatives = Relatives(label, compared, groups, results or PointResults(None, registry))

    def tables_of(members: Iterable[Group], title: str = "") -> tuple[ResultMatrix, list[Standings]]:
        matrix = make_result_matrix(members, white_boxes, yours=yours, own_points=basis is Basis.OWN_POINTS)
        white = matrix.of_white_boxes()
        table = partial(
            make_standings, relatives=relatives, measurements=measurements, basis=basis, tolerance=tolerance
        )
        if white is None:
            return matrix, [table(matrix, title=title)]
        prefix = f"{title}, " if title else ""
        apart = table(white, title=f"{prefix}white boxes", apart=True)
        if not matrix.candidates:
            return matrix, [apart]
        return matrix, [table(matrix, title=f"{prefix}black boxes", apart=True), apart]

    matrix, parts = tables_of(groups)
    whole = parts[0]
    if group_by is not GroupBy.NOTHING:
        members: dict[str, list[Group]] = defaultdict(list)
        for group in groups:
            members[group_by.of(group)].append(group)
        parts = [table for title, own in members.items() for table in tables_of(own, title)[1]]
    return Board(
        standings=whole,
        parts=tuple(parts),
        group_by=group_by,
        relatives=relatives,
        white_boxes=white_boxes,
        matrix=matrix,
        reference=label,
        cells=len(cells),
        failed=sum(bool(cell.failure) for cell in cells),
        skipped=sum(bool(cell.skipped) for cell in cells),
        unfinished=unfinished,
        seeds=tuple(sorted({cell.content["seed"] for cell in cells if "seed" in cell.content})),
        mark=digest_of(sorted(cell.info.key for cell in cells)),
        said=(
            *notes_as(NoteKind.REFERENCE, notes),
            *cautions(groups),
            *compared_by_loss(matrix),
            *notes_as(NoteKind.UNFOUND, remarks),
            *notes_as(NoteKind.METRICS, measurements.complaints),
            *notes_as(NoteKind.METRICS, measured_in_part(measurements, cells)),
        ),
        measurements=measurements,
        yours=frozenset(yours),
    )


def _rows_of_task(
    groups: Sequence[Group],
    relatives: Relatives,
    white_boxes: Collection[str],
    measurements: Measurements,
    yours: Collection[str],
) -> list[Row]:
    """Compute the rows of one task, all groups of which are given.

    The highest rate of success is first, then the smallest objective value on the points that all solved; white boxes
    are last. Where results lack objective values, the loss takes their place for all.
    """
    ran = [{place for place, one in group.points.items() if one.loss is not None} for group in groups if group.ran]
    shared = set.intersection(*ran) if ran else set()
    rows = [_row(group, shared, relatives, white_boxes, measurements, yours) for group in groups]
    by_loss = any(lacks_values(cell) for group in groups for cell in group.ran)

    def place(row: Row) -> tuple[bool, float, float, str]:
        rate = -1.0 if row.success.mean is None else row.success.mean
        value = (row.shared_loss if by_loss else row.shared_objective).value
        return row.white_box, -rate, float("inf") if value is None else value, row.label

    return sorted(rows, key=place)


def _row(
    group: Group,
    shared: set[Point],
    relatives: Relatives,
    white_boxes: Collection[str],
    measurements: Measurements,
    yours: Collection[str],
) -> Row:
    own = group.points.values()
    on_shared = [group.points[place] for place in shared] if group.ran else []
    return Row(
        task=group.task,
        searcher=group.searcher,
        setup=group.setup,
        white_box=is_white_box(group, white_boxes),
        folds=group.folds,
        eligible=sum(cell.eligible for cell in group.ran),
        success=rate([(sum(count > 0 for count in cell.successes), len(cell.row_ids)) for cell in group.ran]),
        search_success=rate([(sum(cell.successes), sum(cell.tries)) for cell in group.ran]),
        loss=median_of((point.loss for point in own), len(own)),
        shared_loss=median_of((point.loss for point in on_shared), len(own)),
        objective=median_of((point.objective_value for point in own), len(own)),
        shared_objective=median_of((point.objective_value for point in on_shared), len(own)),
        relative={name: found for name in relatives.metrics if (found := relatives.of(name, group)) is not None},
        is_reference=group.searcher == relatives.reference,
        spending=spending(group.ran),
        statuses=statuses(group.ran),
        cells=len(group.cells),
        failed=sum(bool(cell.failure) for cell in group.cells),
        skipped=sum(bool(cell.skipped) for cell in group.cells),
        metrics={column.label: _mean(group, measurements.of(column)) for column in measurements.columns},
        yours=any(record_key(cell) in yours for cell in group.cells),
        loss_alone=group.loss_alone,
        not_run_here=any(cell.info.not_run_here for cell in group.cells),
    )


def _mean(group: Group, by_cell: Mapping[str, FloatArray]) -> tuple[float | None, int]:
    """Return the mean of a metric over the group's points, and how many have a value."""
    values = [by_cell[cell.info.key] for cell in group.ran if cell.info.key in by_cell]
    known = np.concatenate(values) if values else np.zeros(0)
    known = known[np.isfinite(known)]
    return (float(known.mean()) if len(known) else None), len(known)
