"""The rows of the board: a searcher on a task, with all its numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cfbench.analysis.aggregate import (
    Median,
    Rate,
    Spending,
    own_loss,
    own_objective,
    search_success_rate,
    shared_loss,
    shared_objective,
    solved,
    spending,
    statuses,
    success_rate,
)
from cfbench.analysis.comparison import Relatives
from cfbench.analysis.groups import Group, Point, Task, is_white_box, lacks_values
from cfbench.analysis.loss_alone import record_key
from cfbench.analysis.measured import Measurements
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

    @property
    def label(self) -> str:
        """The searcher as readers see it."""
        label = f"{self.searcher} ({self.setup})" if self.setup else self.searcher
        label = f"{label} [white-box]" if self.white_box else label
        return f"{label} [yours]" if self.yours else label


def rows_of_task(
    groups: Sequence[Group],
    relatives: Relatives,
    white_boxes: Collection[str],
    measurements: Measurements | None = None,
    yours: Collection[str] = (),
) -> list[Row]:
    """Compute the rows of one task, all groups of which are given.

    The highest rate of success is first, then the smallest objective value on the points that all solved; white boxes
    are last. Where results lack objective values, the loss takes their place for all.
    """
    ran = [solved(group) for group in groups if group.ran]
    shared = set.intersection(*ran) if ran else set()
    rows = [_row(group, shared, relatives, white_boxes, measurements or Measurements(), yours) for group in groups]
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
    return Row(
        task=group.task,
        searcher=group.searcher,
        setup=group.setup,
        white_box=is_white_box(group, white_boxes),
        folds=group.folds,
        eligible=sum(cell.eligible for cell in group.ran),
        success=success_rate(group),
        search_success=search_success_rate(group),
        loss=own_loss(group),
        shared_loss=shared_loss(group, shared) if group.ran else Median(None, 0, 0),
        objective=own_objective(group),
        shared_objective=shared_objective(group, shared) if group.ran else Median(None, 0, 0),
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
    )


def _mean(group: Group, by_cell: Mapping[str, FloatArray]) -> tuple[float | None, int]:
    """Return the mean of a metric over the group's points, and how many have a value."""
    values = [by_cell[cell.info.key] for cell in group.ran if cell.info.key in by_cell]
    known = np.concatenate(values) if values else np.zeros(0)
    known = known[np.isfinite(known)]
    return (float(known.mean()) if len(known) else None), len(known)
