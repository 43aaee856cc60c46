"""What a run would do, without running anything: the plan compared with the record, and how long it may take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from cfbench.record.files import check_directory
from cfbench.record.store import Record
from cfbench.registry.registry import Registry
from cfbench.running.estimate import NEARNESS, Durations
from cfbench.running.progress import Metrics, PlannedCell, note_of_older_cells, planned_cells
from cfbench.study.plan import Cell, Plan


class CellState(StrEnum):
    """How far a cell is."""

    DONE = "done"
    MISSING = "missing"
    UNMEASURED = "unmeasured"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class CellOutlook:
    """What is left of a cell.

    Parameters
    ----------
    cell : Cell
    state : CellState
        "failed" cells failed in an earlier run, and run again.
    reason : str
        Why it is skipped, or why it failed.
    searches, done : int
        What is asked for, and what the record holds of it.
    exact : bool
        Whether `searches` is certain; False: an upper bound, since no model has been fitted yet.
    unmeasured : int
        Metrics that the record lacks, and values under further objectives.
    seconds : float or None
        Expected wall-clock seconds of all that is left to search; None where nothing is known of its searcher.
    basis : str
        Which recorded searches that expectation is taken from.
    """

    cell: Cell
    state: CellState
    reason: str = ""
    searches: int = 0
    done: int = 0
    exact: bool = True
    unmeasured: int = 0
    seconds: float | None = 0.0
    basis: str = ""

    @property
    def missing(self) -> int:
        """Searches left to run."""
        return self.searches - self.done

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-like content."""
        info = self.cell.info
        return {
            "key": info.key,
            "dataset": info.dataset,
            "model": info.model,
            "searcher": info.searcher,
            "objective": info.objective,
            "constraints": info.constraints,
            "fold": info.fold,
            "state": self.state.value,
            "reason": self.reason,
            "judged_under": [objective.label for objective in self.cell.judged],
            "named_by_study": self.cell.named,
            "searches": self.searches,
            "searches_exact": self.exact,
            "done": self.done,
            "missing": self.missing,
            "unmeasured": self.unmeasured,
            "seconds": self.seconds,
            "basis": self.basis,
        }


@dataclass(frozen=True)
class Outlook:
    """What is left of a plan.

    Parameters
    ----------
    plan : Plan
    cells : tuple of CellOutlook
        In the plan's order.
    problems : tuple of str
        What of the record cannot be read.
    """

    plan: Plan
    cells: tuple[CellOutlook, ...]
    problems: tuple[str, ...] = ()

    @property
    def states(self) -> Counter[CellState]:
        """How many cells there are of each state."""
        return Counter(cell.state for cell in self.cells)

    @property
    def searches(self) -> int:
        """Searches asked for."""
        return sum(cell.searches for cell in self.cells)

    @property
    def missing(self) -> int:
        """Searches left to run."""
        return sum(cell.missing for cell in self.cells)

    @property
    def exact(self) -> bool:
        """Whether the number of searches is certain."""
        return all(cell.exact for cell in self.cells)

    @property
    def seconds(self) -> float:
        """Expected seconds of the missing searches that something is known of, one after the other."""
        return sum(cell.seconds or 0.0 for cell in self.cells)

    @property
    def longest(self) -> float:
        """Expected seconds of the longest of them: no number of workers makes it shorter."""
        known = [cell.seconds / cell.missing for cell in self.cells if cell.seconds and cell.missing]
        return max(known, default=0.0)

    @property
    def far(self) -> int:
        """Missing searches whose expectation is taken from another objective: robustness may cost a multiple."""
        return sum(cell.missing for cell in self.cells if cell.basis == NEARNESS[-1])

    @property
    def unknown(self) -> int:
        """Missing searches that nothing is known of."""
        return sum(cell.missing for cell in self.cells if cell.seconds is None)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON-like content."""
        study = self.plan.study
        return {
            "study": study.name,
            "results": str(study.results),
            "workers": study.workers,
            "cells": [cell.to_json() for cell in self.cells],
            "states": {state.value: self.states[state] for state in CellState},
            "searches": self.searches,
            "searches_exact": self.exact,
            "missing": self.missing,
            "estimate": {
                "searching_seconds": self.seconds if self.missing > self.unknown or not self.missing else None,
                "longest_search_seconds": self.longest or None,
                "searches_estimated_from_another_objective": self.far,
                "searches_without_estimate": self.unknown,
            },
            "notes": list(self.plan.notes),
            "problems": list(self.problems),
        }


def look_ahead(plan: Plan, registry: Registry, retry: Collection[str] = ()) -> Outlook:
    """Hold `plan` against its record, without a lock and without writing anything.

    Parameters
    ----------
    plan : Plan
    registry : Registry
    retry : collection of str
        Statuses whose searches count as missing.

    Raises
    ------
    RecordError
        If the directory of the results is something else than a record.
    """
    metrics = Metrics(plan.metrics, registry)
    record = _record_at(plan.study.results)
    if record is None:
        return Outlook(plan, tuple(_outlook(planned, Durations()) for planned in planned_cells(plan, None, metrics)))
    with record:
        durations = Durations()
        _add_waiting(durations, record, plan)
        found = planned_cells(plan, record, metrics, retry, durations)
        cells = tuple(_outlook(planned, durations) for planned in found)
        note = note_of_older_cells(plan, record.keys())
        return Outlook(plan, cells, tuple(filter(None, (note, *record.problems))))


def _record_at(results: Path) -> Record | None:
    """Open the record; None where a run would make one."""
    return Record.open(results) if check_directory(results, write=True) else None


def _add_waiting(durations: Durations, record: Record, plan: Plan) -> None:
    """Take in the searches of cells that are under way."""
    pending = record.pending()
    for cell in plan.cells:
        if cell.info.key in pending:
            seconds = record.searches(cell.info.key)["wall_seconds"]
            durations.add(cell.info, float(seconds.sum()), len(seconds))


def _outlook(planned: PlannedCell, durations: Durations) -> CellOutlook:
    cell, known = planned.cell, planned.known
    if cell.skipped:
        return CellOutlook(cell, CellState.SKIPPED, cell.skipped)
    missing = planned.searches - planned.searches_done
    expected = durations.expected(cell.info)
    seconds: float | None = 0.0
    if missing:
        seconds = None if expected is None else expected[0] * missing
    if planned.all_searched:
        state = CellState.UNMEASURED if planned.unmeasured else CellState.DONE
    else:
        state = CellState.FAILED if known is not None and known.failure else CellState.MISSING
    return CellOutlook(
        cell,
        state,
        reason=known.failure if state is CellState.FAILED and known is not None else "",
        searches=planned.searches,
        done=planned.searches_done,
        exact=planned.eligible is not None,
        unmeasured=len(planned.unmeasured),
        seconds=seconds,
        basis=expected[1] if missing and expected else "",
    )
