"""How a cell ends: its results are confirmed, it is compacted and measured; or it fails, and runs again next time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cfbench.errors import CfbenchError
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished
from cfbench.running.executors.local import WorkerDied
from cfbench.running.measure import Measured
from cfbench.running.progress import CellProgress, Metrics, RunReport, described
from cfbench.running.schedule import Assignment, Purpose, Schedule
from cfbench.running.worker import classes_differ
from cfbench.study.plan import Cell, Plan

if TYPE_CHECKING:
    import pandas as pd


class Endings:
    """Leads cells whose searches are in to their end.

    Parameters
    ----------
    plan : Plan
    record : Record
    metrics : Metrics
    schedule : Schedule
        Where confirming and measuring are queued.
    progress : dict of str to CellProgress
        By cell key; cells that end leave it.
    report : RunReport
    notify : callable
        Tells reporters of an event.
    """

    def __init__(
        self,
        plan: Plan,
        record: Record,
        metrics: Metrics,
        schedule: Schedule,
        progress: dict[str, CellProgress],
        report: RunReport,
        notify: Callable[[Any], None],
    ) -> None:
        self._plan = plan
        self._record = record
        self._metrics = metrics
        self._schedule = schedule
        self._progress = progress
        self._report = report
        self._notify = notify
        self._searches: dict[str, pd.DataFrame] = {}  # of cells between their last search and their end

    def searched(self, cell: Cell) -> None:
        """All searches are in: have the model's own predict confirm the results in one batch."""
        searches = self._searches[cell.info.key] = self._record.searches(cell.info.key)
        results = searches.loc[searches["loss"].notna(), "z"].tolist()
        d = self._plan.datasets[cell.dataset].space.d
        strange = sum(z is None or z.shape != (d,) for z in results)
        if strange:
            reason = (
                f"{strange} of {len(results)} results in the record are no rows of {d} features, as those of "
                f"{cell.dataset} are: they were altered, or published without their rows. Run them again with --retry "
                "found, or use another results directory"
            )
            self.fail(cell, CfbenchError(reason))
            return
        if not results:
            self._close(cell)
            return
        Z = np.vstack(results)
        self._schedule.add_first(Assignment(Purpose.CONFIRM, cell, (cell, Z)))

    def confirmed(self, cell: Cell, classes: Any) -> None:
        """Close the cell if the model's own predict has put every result into the target class."""
        target = self._plan.datasets[cell.dataset].target
        wrong = classes_differ(classes, target)
        if wrong:
            self.fail(
                cell,
                CfbenchError(
                    f"the model's own predict does not confirm {len(wrong)} of {len(classes)} results (the first: "
                    f"result {wrong[0]} is of class {int(classes[wrong[0]])}, not {target}); the oracle of model "
                    f"{cell.model.label!r} is not exact: report this"
                ),
            )
            return
        self._close(cell)

    def _close(self, cell: Cell) -> None:
        """Compact the cell, then measure what the study asks for."""
        key = cell.info.key
        self._record.finish(cell.info, cell.content, self._progress[key].eligible)
        wanted = self._metrics.missing(self._record.measured().get(key, set()), cell.judged)
        if wanted:
            self._schedule.add_first(Assignment(Purpose.MEASURE, cell, (cell, self._searches[key], wanted)))
        else:
            self._finished(cell)

    def measured(self, cell: Cell, measured: Measured) -> None:
        """Write what was measured; the cell is finished."""
        if len(measured.table):
            self._record.write_measures(cell.info.key, measured.table)
        self._report.failures += [f"{described(cell)}: {complaint}" for complaint in measured.complaints]
        self._finished(cell)

    def _finished(self, cell: Cell) -> None:
        key = cell.info.key
        self._schedule.drop_cell(cell)
        eligible = self._progress.pop(key).eligible
        self._report.cells_done += 1
        searches, measures = self._searches.pop(key), self._record.measures(key)
        self._notify(CellFinished(cell.info, searches, measures, content=cell.content, eligible=eligible))

    def fail(self, cell: Cell, error: BaseException) -> None:
        """Mark a cell failed; its finished searches stay in the record, and it runs again next time."""
        self._schedule.drop_cell(cell)
        self._progress.pop(cell.info.key, None)
        self._searches.pop(cell.info.key, None)
        reason = str(error) if isinstance(error, (CfbenchError, WorkerDied)) else f"{type(error).__name__}: {error}"
        self._record.fail(cell.info, cell.content, reason)
        self._report.cells_failed += 1
        self._report.failures.append(f"{described(cell)}: {reason}")
        self._notify(CellFinished(cell.info, None, None, failure=reason))
