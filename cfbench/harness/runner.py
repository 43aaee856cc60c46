"""The run: plan in, record out. Reads what the record holds, runs what is missing, tells the reporters.

Only this process writes the record. Workers return rows; each row is safe in the record before it is reported.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cfbench.errors import CfbenchError
from cfbench.events import CellFinished, CellStarted, RunFinished, SearchFinished
from cfbench.harness.agenda import open_agenda
from cfbench.harness.executors import Executor, WorkerDied
from cfbench.harness.interrupt import Interrupt
from cfbench.harness.measure import Measured
from cfbench.harness.plan import Cell, Plan
from cfbench.harness.progress import CellProgress
from cfbench.harness.schedule import Assignment, ModelKey, Purpose, Schedule, model_key
from cfbench.harness.search import SearchTask, row_of
from cfbench.harness.standing import Metrics
from cfbench.harness.store.record import Record
from cfbench.harness.variants import Variant
from cfbench.harness.worker import Prepared, classes_differ
from cfbench.outcome import Outcome, Status
from cfbench.registry import Registry


@dataclass
class RunReport:
    """What a run did.

    Parameters
    ----------
    cells_done, cells_failed, cells_skipped : int
    searches_run : int
    interrupted : bool
    failures : list of str
        A sentence for each failed cell or metric.
    complaints : list of str
        What reporters could not do.
    """

    cells_done: int = 0
    cells_failed: int = 0
    cells_skipped: int = 0
    searches_run: int = 0
    interrupted: bool = False
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


class Run:
    """One run of a plan.

    Parameters
    ----------
    plan : Plan
    record : Record
        Open for writing.
    registry : Registry
        For its reporters.
    executor : Executor
        Closed by `go`.
    metrics : sequence of Variant
        What is measured when a cell is finished.
    tracking : str
        Tracking address for the reporters.
    retry : collection of str
        Statuses whose searches run again.
    resume : str
        The command that goes on after an interruption.
    """

    def __init__(
        self,
        plan: Plan,
        record: Record,
        registry: Registry,
        executor: Executor,
        *,
        metrics: Sequence[Variant] = (),
        tracking: str = "",
        retry: Collection[str] = (),
        resume: str = "",
    ) -> None:
        self._plan = plan
        self._record = record
        self._registry = registry
        self._executor = executor
        self._metrics = Metrics(metrics, registry)
        self._tracking = tracking
        self._resume = resume
        self._report = RunReport()
        agenda = open_agenda(plan, record, self._metrics, frozenset(retry))
        self._report.cells_done, self._report.cells_skipped = agenda.done, agenda.skipped
        self._agenda = agenda
        self._progress = agenda.progress
        self._schedule = Schedule(agenda.to_do, executor.slots)
        self._running: dict[Future[Any], tuple[int, Assignment]] = {}

    def go(self) -> RunReport:
        """Run what is missing and return what was done.

        An interruption is not an error: the report says so, and every finished search is in the record.
        """
        self._notify(self._agenda.started(self._plan, tracking=self._tracking, workers=self._executor.slots))
        with Interrupt() as interrupt:
            try:
                self._loop(interrupt)
            except KeyboardInterrupt:
                self._report.interrupted = True
            finally:
                self._executor.close()
        resume = self._resume if self._report.interrupted else ""
        done, failed = self._report.cells_done, self._report.cells_failed
        self._notify(RunFinished(done, failed, self._report.searches_run, self._report.interrupted, resume))
        return self._report

    # ---------------------------------------------------------------- the loop

    def _loop(self, interrupt: Interrupt) -> None:
        idle = list(range(self._executor.slots))
        while True:
            while idle:
                assignment = self._schedule.next_for(idle[-1])
                if assignment is None:
                    break
                slot = idle.pop()
                with interrupt.allowed():
                    future = self._executor.submit(slot, assignment.job())
                self._running[future] = (slot, assignment)
            if not self._running:
                return
            with interrupt.allowed():
                ended, _ = wait(self._running, return_when=FIRST_COMPLETED)
            for future in ended:
                slot, assignment = self._running.pop(future)
                idle.append(slot)
                self._receive(slot, assignment, future)

    def _receive(self, slot: int, assignment: Assignment, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            if isinstance(error, (TimeoutError, WorkerDied)):
                self._schedule.forget_slot(slot)
            self._failed(assignment, error)
            return
        result = future.result()
        match assignment.purpose:
            case Purpose.PREPARE:
                self._prepared(assignment.model, result)
            case Purpose.SEARCH:
                self._searched(assignment, result)
            case Purpose.CONFIRM:
                self._confirmed(assignment, result)
            case Purpose.MEASURE:
                self._measured(assignment, result)

    def _failed(self, assignment: Assignment, error: BaseException) -> None:
        """A job ended without a result: a search keeps that as its result, anything else fails its cells."""
        if assignment.purpose is Purpose.SEARCH and isinstance(error, TimeoutError):
            limit = assignment.cell.time_limit or 0.0
            reason = f"killed after its limit of {limit:g} s"
            self._searched(assignment, self._lost(assignment, Status.TIMED_OUT, reason, limit))
        elif assignment.purpose is Purpose.SEARCH and isinstance(error, WorkerDied):
            self._searched(assignment, self._lost(assignment, Status.CRASHED, str(error), 0.0))
        elif assignment.purpose in (Purpose.PREPARE, Purpose.WARM):
            self._schedule.drop_model(assignment.model)
            for progress in list(self._progress.values()):
                if model_key(progress.cell) == assignment.model and not progress.closed:
                    self._fail(progress.cell, error)
        else:
            self._fail(assignment.cell, error)

    def _lost(self, assignment: Assignment, status: Status, reason: str, seconds: float) -> dict[str, Any]:
        """Return the row of a search whose worker is gone."""
        task = assignment.task
        assert task is not None
        outcome = Outcome(status, reason, wall_seconds=seconds)
        fingerprint = self._progress[task.cell.info.key].fingerprint
        return row_of(task, self._plan.datasets[task.cell.dataset].X[task.row_id], outcome, fingerprint)

    # ---------------------------------------------------------------- what comes back

    def _prepared(self, model: ModelKey, prepared: Prepared) -> None:
        """Queue the searches of every cell that waited for the model."""
        for progress in self._progress.values():
            cell = progress.cell
            if model_key(cell) != model or progress.closed:
                continue
            complaint = progress.start(prepared, self._record.searches(cell.info.key))
            if complaint:
                self._fail(cell, CfbenchError(complaint))
                continue
            self._notify(CellStarted(cell.info, progress.total, progress.total - len(progress.left)))
            tasks = [SearchTask(cell, point, prepared.row_ids[point], rep) for point, rep in sorted(progress.left)]
            self._schedule.add(Assignment(Purpose.SEARCH, model, cell, (task,), task) for task in tasks)
            if not tasks:
                self._ask_to_confirm(progress)

    def _searched(self, assignment: Assignment, row: dict[str, Any]) -> None:
        self._record.append(row)
        self._report.searches_run += 1
        progress = self._progress[assignment.cell.info.key]
        progress.left.discard((row["point"], row["repetition"]))
        loss = float("nan") if row["loss"] is None else row["loss"]
        self._notify(
            SearchFinished(
                cell=assignment.cell.info,
                point=row["point"],
                repetition=row["repetition"],
                status=row["status"],
                reason=row["reason"],
                loss=loss,
                wall_seconds=row["wall_seconds"],
            )
        )
        if not progress.left and not progress.closed:
            self._ask_to_confirm(progress)

    def _ask_to_confirm(self, progress: CellProgress) -> None:
        """Have the model's own predict confirm all results of a cell in one batch."""
        cell = progress.cell
        searches = self._record.searches(cell.info.key)
        valid = searches[searches["loss"].notna()]
        Z = np.vstack(list(valid["z"])) if len(valid) else np.empty((0, self._plan.datasets[cell.dataset].space.d))
        if len(Z) == 0:
            self._close(cell)
            return
        self._schedule.add_first(Assignment(Purpose.CONFIRM, model_key(cell), cell, (cell, Z)))

    def _confirmed(self, assignment: Assignment, classes: Any) -> None:
        cell = assignment.cell
        target = self._plan.datasets[cell.dataset].target
        wrong = classes_differ(classes, target)
        if wrong:
            self._fail(
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
        """All searches are in: compact the cell, then measure what the study asks for."""
        progress = self._progress[cell.info.key]
        self._record.finish(cell.info, cell.content, progress.eligible)
        wanted = self._metrics.missing(self._record.measured().get(cell.info.key, set()))
        if wanted:
            searches = self._record.searches(cell.info.key)
            self._schedule.add_first(Assignment(Purpose.MEASURE, model_key(cell), cell, (cell, searches, wanted)))
        else:
            self._finished(cell)

    def _measured(self, assignment: Assignment, measured: Measured) -> None:
        cell = assignment.cell
        if len(measured.table):
            self._record.write_measures(cell.info.key, measured.table)
        self._report.failures += [f"{_name(cell)}: {complaint}" for complaint in measured.complaints]
        self._finished(cell)

    def _finished(self, cell: Cell) -> None:
        self._progress[cell.info.key].closed = True
        self._report.cells_done += 1
        key = cell.info.key
        searches, measures = self._record.searches(key), self._record.measures(key)
        eligible = self._progress[key].eligible
        self._notify(CellFinished(cell.info, searches, measures, content=cell.content, eligible=eligible))

    def _fail(self, cell: Cell, error: BaseException) -> None:
        """Mark a cell failed; its finished searches stay in the record, and it runs again next time."""
        self._schedule.drop_cell(cell.info.key)
        self._progress[cell.info.key].closed = True
        reason = str(error) if isinstance(error, (CfbenchError, WorkerDied)) else f"{type(error).__name__}: {error}"
        self._record.fail(cell.info, cell.content, reason)
        self._report.cells_failed += 1
        self._report.failures.append(f"{_name(cell)}: {reason}")
        self._notify(CellFinished(cell.info, None, None, failure=reason))

    def _notify(self, event: Any) -> None:
        for complaint in self._registry.notify(event):
            self._report.complaints.append(f"{complaint.reporter}: {complaint.message}")


def _name(cell: Cell) -> str:
    info = cell.info
    constraints = "with constraints" if info.constraints else "without constraints"
    return f"{info.dataset}, {info.model}, {info.searcher}, {info.objective}, {constraints}, fold {info.fold}"
