"""The run: plan in, record out. Reads what the record holds, runs what is missing, tells the reporters.

Only this process writes the record. Workers return rows; each row is safe in the record before it is reported. A cell
ends when its results are confirmed and it is measured; or it fails, and runs again in the next run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from cfbench.errors import CfbenchError
from cfbench.problem.outcome import Status
from cfbench.record.schema import Row
from cfbench.record.store import Record
from cfbench.registry.events import CellFinished, CellStarted, RunFinished, RunStarted, SearchFinished
from cfbench.registry.registry import Registry
from cfbench.running.estimate import Durations
from cfbench.running.executors.local import Executor, ExecutorLost, WorkerDied
from cfbench.running.interrupt import Interrupt
from cfbench.running.judge import Verdict
from cfbench.running.measure import Measured
from cfbench.running.preparation import PreparationLost
from cfbench.running.progress import Metrics, RunReport, described, notes_of, open_agenda
from cfbench.running.schedule import Assignment, Purpose, Schedule
from cfbench.running.search import SearchTask, row_of
from cfbench.running.warned import Counted, Warned, sentences, show
from cfbench.running.worker import Batch, ModelKey, Prepared, model_key
from cfbench.study.plan import Cell, Plan
from cfbench.study.variants import Variant

PATIENCE = 1.0
"""Seconds after which a waiting run looks whether workers have joined."""


class Run:
    """One run of a plan.

    The record is open for writing, the registry has the reporters, and `go` closes the executor. Finished cells are
    measured with `metrics`. Searches with a status in `retry` run again. `resume` is the command that goes on after an
    interruption. On the command line a second interruption `ends_process`; otherwise it raises KeyboardInterrupt.
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
        ends_process: bool = False,
    ) -> None:
        self._plan = plan
        self._record = record
        self._registry = registry
        self._executor = executor
        self._tracking = tracking
        self._resume = resume
        self._ends_process = ends_process
        self._metrics = Metrics(metrics, registry)
        durations = Durations()
        self._agenda = open_agenda(plan, record, self._metrics, frozenset(retry), durations)
        self._report = RunReport(self._agenda.done, cells_skipped=self._agenda.skipped)
        self._progress = self._agenda.progress
        cells = [progress.cell for progress in self._progress.values()]
        self._of_model: dict[ModelKey, list[Cell]] = {}
        for cell in cells:
            self._of_model.setdefault(model_key(cell), []).append(cell)
        self._schedule = Schedule(cells, durations)
        self._rows: dict[str, list[Row]] = {}  # of cells between their last search and their end
        self._warned: dict[str, Counter[Warned]] = {}
        self._slots = 0
        self._idle: list[int] = []
        self._running: dict[Future[Any], tuple[int, Assignment]] = {}
        self._ended: SimpleQueue[Future[Any] | None] = SimpleQueue()  # None only wakes the run

    def go(self) -> RunReport:
        """Run what is missing and return what was done.

        An interruption is not an error: the report says so, and every finished search is in the record.

        Raises ExecutorLost if the workers cannot be reached any more; then, too, every finished search is in the
        record.
        """
        lost: ExecutorLost | None = None
        wake = partial(self._ended.put, None)
        with Interrupt(self._last_message if self._ends_process else None, wake) as interrupt:
            try:
                self._notify(self._started())
                self._loop(interrupt)
            except KeyboardInterrupt:
                self._report.interrupted = True
            except ExecutorLost as error:
                lost = error
            finally:
                with interrupt.closing():
                    self._executor.close()
                for counts in self._warned.values():  # of cells that have not ended, or have ended before
                    show(counts)
            stopped = self._report.interrupted or lost is not None
            done, failed = self._report.cells_done, self._report.cells_failed
            resume = self._resume if stopped else ""
            self._notify(RunFinished(done, failed, self._report.searches_run, stopped, resume))
        if lost is not None:
            raise lost
        return self._report

    def _last_message(self) -> str:
        return f"ended at once; every finished search is in the record; go on with: {self._resume}"

    def _started(self) -> RunStarted:
        """Return the event that opens the run."""
        return RunStarted(
            study=self._plan.study.name,
            results=self._plan.study.results,
            tracking=self._tracking,
            cells=tuple(self._agenda.cells),
            cells_done=self._agenda.done,
            searches=self._agenda.searches,
            searches_done=self._agenda.searches_done,
            workers=self._executor.slots,
            notes=notes_of(self._plan, self._record),
        )

    # ---------------------------------------------------------------- the loop

    def _loop(self, interrupt: Interrupt) -> None:
        """Keep every idle slot busy, and take results as they come."""
        ended: list[tuple[int, Assignment, Future[Any]]] = []
        while True:
            # Workers go on while their last results are written, where submitting does not mean waiting.
            if not self._executor.blocks:
                self._fill(interrupt)
            self._write(ended)
            interrupt.check()  # before a worker that died of the same signal is taken for a crash
            for _, assignment, future in ended:
                self._receive(assignment, future)
            self._fill(interrupt)
            if not self._running:
                return
            ended = self._next_ended()

    def _next_ended(self) -> list[tuple[int, Assignment, Future[Any]]]:
        """Wait until a job ends, a signal wakes the run, or its patience ends; return all jobs that have ended."""
        ended = []
        try:
            futures = [self._ended.get(timeout=PATIENCE)]
            while not self._ended.empty():
                futures.append(self._ended.get())
        except Empty:
            return []
        for future in filter(None, futures):
            slot, assignment = self._running.pop(future)
            if isinstance(future.exception(), (TimeoutError, WorkerDied, PreparationLost)):
                self._schedule.forget_slot(slot)
            self._idle.append(slot)
            ended.append((slot, assignment, future))
        return ended

    def _fill(self, interrupt: Interrupt) -> None:
        """Give idle slots the next jobs."""
        slots = self._executor.slots
        if slots > self._slots:  # at the start, and where workers join a cluster
            self._idle = [*range(self._slots, slots), *self._idle]
            self._slots = slots
        while self._idle:
            assignment = self._schedule.next_for(self._idle[-1], self._slots)
            if assignment is None:
                return
            slot = self._idle.pop()
            with interrupt.allowed() if self._executor.blocks else nullcontext():
                future = self._executor.submit(slot, assignment.job())
            self._running[future] = (slot, assignment)
            future.add_done_callback(self._ended.put)
            if self._executor.blocks:
                return  # its result is taken before the next job

    def _write(self, ended: Sequence[tuple[int, Assignment, Future[Any]]]) -> None:
        """Write the rows of all batches that have come: the run waits for the disk per cell, not per batch."""
        batches: list[tuple[Cell, Batch]] = [
            (assignment.cell, future.result().value)
            for _, assignment, future in ended
            if assignment.purpose is Purpose.SEARCH and future.exception() is None
        ]
        if not batches:
            return
        with self._record.transaction():
            self._record.append_all(row for _, batch in batches for row in batch.rows)
            for cell, batch in batches:
                if batch.preparation is not None:
                    self._record.note_preparation(cell.info.key, batch.preparation)

    def _receive(self, assignment: Assignment, future: Future[Any]) -> None:
        error = future.exception()
        if isinstance(error, ExecutorLost):
            raise error
        if error is not None:
            self._failed(assignment, error)
            return
        counted: Counted = future.result()
        self._warned.setdefault(assignment.cell.info.key, Counter()).update(counted.warnings)
        result = counted.value
        match assignment.purpose:
            case Purpose.PREPARE:
                self._prepared(assignment.model, result)
            case Purpose.SEARCH:
                self._searched(assignment.cell, result.rows)
            case Purpose.CONFIRM:
                self._cell_confirmed(assignment.cell, result)
            case Purpose.MEASURE:
                self._cell_measured(assignment.cell, result)

    def _failed(self, assignment: Assignment, error: BaseException) -> None:
        """A job ended without a result: a search keeps that as its result, anything else fails its cells."""
        cell = assignment.cell
        if assignment.purpose is Purpose.SEARCH and isinstance(error, (TimeoutError, WorkerDied)):
            if len(assignment.tasks) > 1:
                self._schedule.add_alone(assignment.tasks)
            elif isinstance(error, TimeoutError):
                limit = cell.time_limit or 0.0
                self._lost(assignment, Status.TIMED_OUT, f"killed after its limit of {limit:g} s", limit)
            else:
                self._lost(assignment, Status.CRASHED, str(error), 0.0)
        elif assignment.purpose in (Purpose.PREPARE, Purpose.WARM):
            self._schedule.drop_model(assignment.model)
            for other in self._of_model[assignment.model]:
                if other.info.key in self._progress:
                    self._fail_cell(other, error)
        elif cell.info.key in self._progress:
            self._fail_cell(cell, error)

    def _lost(self, assignment: Assignment, status: Status, reason: str, seconds: float) -> None:
        """Take note of a search whose worker is gone."""
        (task,) = assignment.tasks
        progress = self._progress.get(task.cell.info.key)
        fingerprint = "" if progress is None else progress.fingerprint
        x = self._plan.datasets[task.cell.dataset].X[task.row_id]
        row = row_of(task, x, Verdict(status, reason), fingerprint, wall_seconds=seconds)
        self._record.append_all([row])
        self._searched(assignment.cell, [row])

    # ---------------------------------------------------------------- what comes back

    def _prepared(self, model: ModelKey, prepared: Prepared) -> None:
        """Queue the searches of every cell that waited for the model."""
        started = [self._progress[cell.info.key] for cell in self._of_model[model] if cell.info.key in self._progress]
        tasks: list[SearchTask] = []
        for progress in started:
            cell = progress.cell
            complaint = progress.start(prepared, self._record.rows(cell.info.key))
            if complaint:
                self._fail_cell(cell, CfbenchError(complaint))
                continue
            self._notify(CellStarted(cell.info, progress.total, progress.total - len(progress.left)))
            tasks += [SearchTask(cell, point, prepared.row_ids[point], rep) for point, rep in sorted(progress.left)]
            if not progress.left:
                self._cell_searched(cell)
        self._schedule.add_searches(tasks)

    def _searched(self, cell: Cell, rows: Sequence[dict[str, Any]]) -> None:
        """Count searches that are in the record, and tell the reporters."""
        progress = self._progress.get(cell.info.key)
        if progress is None:
            return  # the cell has failed meanwhile; its searches are kept all the same
        self._schedule.returned(cell, [row["wall_seconds"] for row in rows])
        for row in rows:
            self._report.searches_run += 1
            self._report.crashed += row["status"] == Status.CRASHED
            progress.left.discard((row["point"], row["repetition"]))
            self._notify(
                SearchFinished(
                    cell=cell.info,
                    point=row["point"],
                    repetition=row["repetition"],
                    status=row["status"],
                    reason=row["reason"],
                    loss=float("nan") if row["loss"] is None else row["loss"],
                    wall_seconds=row["wall_seconds"],
                )
            )
        if not progress.left:
            self._cell_searched(cell)

    # ---------------------------------------------------------------- how a cell ends

    def _cell_searched(self, cell: Cell) -> None:
        """All searches are in: have the model's own predict confirm the results in one batch."""
        rows = self._rows[cell.info.key] = self._record.rows(cell.info.key)
        results = [row["z"] for row in rows if row["loss"] is not None]
        d = self._plan.datasets[cell.dataset].space.d
        strange = sum(z is None or len(z) != d for z in results)
        if strange:
            reason = (
                f"{strange} of {len(results)} results in the record are no rows of {d} features, as those of "
                f"{cell.dataset} are: they were altered, or published without their rows. Run them again with --retry "
                "found, or use another results directory"
            )
            self._fail_cell(cell, CfbenchError(reason))
            return
        if not results:
            self._close_cell(cell)
            return
        Z = np.vstack(results)
        self._schedule.add_first(Assignment(Purpose.CONFIRM, cell, (cell, Z)))

    def _cell_confirmed(self, cell: Cell, classes: Any) -> None:
        """Close the cell if the model's own predict has put every result into the target class."""
        target = self._plan.datasets[cell.dataset].target
        wrong = np.flatnonzero(classes != target)
        if len(wrong):
            self._fail_cell(
                cell,
                CfbenchError(
                    f"the model's own predict does not confirm {len(wrong)} of {len(classes)} results (the first: "
                    f"result {wrong[0]} is of class {int(classes[wrong[0]])}, not {target}); the oracle of model "
                    f"{cell.model.label!r} is not exact: report this"
                ),
            )
            return
        self._close_cell(cell)

    def _close_cell(self, cell: Cell) -> None:
        """Compact the cell, then measure what the study asks for."""
        key = cell.info.key
        self._record.finish(cell.info, cell.content, self._progress[key].eligible)
        wanted = self._metrics.missing(self._record.measured_of(key), cell.judged)
        if wanted:
            self._schedule.add_first(Assignment(Purpose.MEASURE, cell, (cell, self._rows[key], wanted)))
        else:
            self._cell_finished(cell)

    def _cell_measured(self, cell: Cell, measured: Measured) -> None:
        """Write what was measured; the cell is finished."""
        self._record.write_values(cell.info.key, measured.values)
        self._report.failures += [f"{described(cell)}: {complaint}" for complaint in measured.complaints]
        self._cell_finished(cell)

    def _cell_finished(self, cell: Cell) -> None:
        key = cell.info.key
        self._schedule.drop_cell(cell)
        eligible = self._progress.pop(key).eligible
        self._report.cells_done += 1
        rows = self._rows.pop(key)
        took = self._record.preparation(key)
        self._notify(
            CellFinished(
                cell.info,
                partial(self._record.tables, key),
                Counter(row["status"] for row in rows),
                content=cell.content,
                eligible=eligible,
                preparation=took,
                warnings=self._warnings_of(key),
            )
        )

    def _fail_cell(self, cell: Cell, error: BaseException) -> None:
        """Mark a cell failed; its finished searches stay in the record, and it runs again next time."""
        self._schedule.drop_cell(cell)
        self._progress.pop(cell.info.key, None)
        self._rows.pop(cell.info.key, None)
        reason = str(error) if isinstance(error, (CfbenchError, WorkerDied)) else f"{type(error).__name__}: {error}"
        self._record.fail(cell.info, cell.content, reason)
        self._report.cells_failed += 1
        self._report.failures.append(f"{described(cell)}: {reason}")
        self._notify(CellFinished(cell.info, failure=reason, warnings=self._warnings_of(cell.info.key)))

    def _warnings_of(self, key: str) -> tuple[str, ...]:
        """Return the warnings of a cell that were not shown yet."""
        return sentences(self._warned.pop(key, Counter()))

    def _notify(self, event: Any) -> None:
        for complaint in self._registry.notify(event):
            self._report.complaints.append(f"{complaint.reporter}: {complaint.message}")
