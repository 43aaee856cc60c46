"""How far a run is: the plan compared with the record, the cells that are left, and what the run did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary, model_of
from cfbench.record.files import check_directory
from cfbench.record.schema import Row
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.registry.registry import Registry
from cfbench.running.estimate import NEARNESS, Durations
from cfbench.running.measure import cell_metrics, identity, objective_measure
from cfbench.running.worker import Prepared
from cfbench.study.plan import Cell, Plan
from cfbench.study.variants import Variant
from cfbench.text import plural


@dataclass
class RunReport:
    """What a run did.

    Parameters
    ----------
    cells_done, cells_failed, cells_skipped : int
    searches_run : int
    crashed : int
        Of the searches run.
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
    crashed: int = 0
    interrupted: bool = False
    failures: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def described(cell: Cell) -> str:
    """Name a cell in a sentence about its failure."""
    info = cell.info
    constraints = "with constraints" if info.constraints else "without constraints"
    return f"{info.dataset}, {info.model}, {info.searcher}, {info.objective}, {constraints}, fold {info.fold}"


MetricId = tuple[str, str, str]
SearchId = tuple[int, int]


class CellState(StrEnum):
    """How far a cell is. A cell that failed in an earlier run runs again."""

    DONE = "done"
    MISSING = "missing"
    UNMEASURED = "unmeasured"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class PlannedCell:
    """A cell of the plan, compared with the record.

    `known` is what the record says of it, in outline. `recorded` has (point, repetition) of the
    searches that count as done, maybe more than the study asks for; `to_retry` of the recorded ones run again.
    `eligible` is None if the record does not know the fold's points. `missing_measures` are metrics, and values under
    further objectives. A cell is `waiting` if a kill came between its last search and its end. `expected` has the
    seconds of one search and the recorded searches that they are taken from; None if nothing is known of the searcher.
    """

    cell: Cell
    known: CellSummary | None
    recorded: frozenset[SearchId] = frozenset()
    to_retry: int = 0
    eligible: int | None = None
    missing_measures: tuple[Variant, ...] = ()
    waiting: bool = False
    expected: tuple[float, str] | None = None

    @property
    def state(self) -> CellState:
        """How far it is."""
        if self.cell.skipped:
            return CellState.SKIPPED
        if self._is_searched:
            return CellState.UNMEASURED if self.missing_measures else CellState.DONE
        return CellState.FAILED if self.known is not None and self.known.failure else CellState.MISSING

    @property
    def _is_searched(self) -> bool:
        """Whether the record holds every search that is asked for, as a cell that was finished."""
        if self.known is None or self.known.failure or not self.known.searches or self.to_retry:
            return False
        recorded = self.known.done.keys() if self.waiting else self.recorded
        return wanted_searches(self.cell, self.known.eligible) <= recorded

    @property
    def reason(self) -> str:
        """Why it is skipped, or why it failed."""
        if self.state is CellState.FAILED and self.known is not None:
            return self.known.failure
        return self.cell.skipped

    @property
    def exact(self) -> bool:
        """Whether `searches` is certain; otherwise it is an upper bound, since no model has been fitted yet."""
        return self.eligible is not None or bool(self.cell.skipped)

    @property
    def searches(self) -> int:
        """Searches that are asked for."""
        if self.cell.skipped:
            return 0
        return self.cell.searches if self.eligible is None else len(wanted_searches(self.cell, self.eligible))

    @property
    def done(self) -> int:
        """Those among them that the record holds."""
        if self.eligible is None:
            return min(len(self.recorded), self.searches)
        return len(wanted_searches(self.cell, self.eligible) & self.recorded)

    @property
    def missing(self) -> int:
        """Searches left to run."""
        return self.searches - self.done

    @property
    def seconds(self) -> float | None:
        """Expected wall-clock seconds of all searches that are left; None if nothing is known of the searcher."""
        if not self.missing:
            return 0.0
        return None if self.expected is None else self.expected[0] * self.missing

    @property
    def basis(self) -> str:
        """Which recorded searches the seconds are taken from."""
        return self.expected[1] if self.missing and self.expected else ""

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
            "unmeasured": len(self.missing_measures),
            "seconds": self.seconds,
            "basis": self.basis,
        }


def wanted_searches(cell: Cell, eligible: int) -> set[SearchId]:
    """Return (point, repetition) of all searches that a cell asks for, where the fold has so many eligible points."""
    points = eligible if cell.points is None else min(cell.points, eligible)
    return {(point, repetition) for point in range(points) for repetition in range(cell.repetitions)}


class Metrics:
    """The metrics of a study that are about single cells, with what identifies their values in the record."""

    def __init__(self, metrics: Sequence[Variant], registry: Registry) -> None:
        self._registry = registry
        self._wanted = [(identity(metric, registry), metric) for metric in cell_metrics(metrics, registry)]

    def missing(self, have: Collection[MetricId], judged: Iterable[Variant] = ()) -> tuple[Variant, ...]:
        """Return those whose present version and settings are not among `have`.

        `have` is what was measured of a cell; the measures of the objectives that it is `judged` under follow the
        metrics.
        """
        under = [(identity(measure, self._registry), measure) for measure in map(objective_measure, judged)]
        return tuple(measure for its_identity, measure in (*self._wanted, *under) if its_identity not in have)


def notes_of(plan: Plan, record: Record) -> tuple[str, ...]:
    """Return the plan's notes, and how many of its cells are in the record with points in the order of the table.

    Earlier versions of cfbench took the first rows of a table. Their cells are never continued: a cell would mix two
    orders.
    """
    keys = record.keys()
    older = sum(
        digest_of({name: value for name, value in cell.content.items() if name != "points"}) in keys
        for cell in plan.cells
        if not cell.skipped
    )
    if not older:
        return plan.notes
    have = "has its" if older == 1 else "have their"
    return (
        *plan.notes,
        f"{plural(older, 'cell')} of this record {have} points in the order of the table, as earlier versions took "
        "them; this study draws its points, so it searches again and leaves those cells as they are",
    )


def planned_cells(
    plan: Plan, record: Record | None, metrics: Metrics, retry: Collection[str], durations: Durations
) -> Iterator[PlannedCell]:
    """Compare every cell of `plan` with the record, in the plan's order.

    Searches with a status in `retry` count as not done. `durations` receives the searches of all finished cells before
    the first cell is returned.
    """
    known: dict[str, CellSummary] = {}
    infos = {cell.info.key: cell.info for cell in plan.cells}
    eligible: dict[str, int] = {}
    pending: set[str] = set()
    measured: Mapping[str, AbstractSet[MetricId]] = {}
    if record is not None:
        pending, measured = record.pending(), record.measured()
        for one in record.cells():
            if one.info.key in infos:
                known[one.info.key] = one.outline(infos[one.info.key])
            if one.searches and one.wall_seconds is not None:
                durations.add(one.info, one.wall_seconds, one.searches)
            if one.searches and not one.failure:
                eligible[model_of(one.content)] = one.eligible
    for cell in plan.cells:
        key = cell.info.key
        if cell.skipped:
            yield PlannedCell(cell, known.get(key))
            continue
        statuses = {} if record is None else record.done(key)
        recorded = frozenset(search for search, status in statuses.items() if status not in retry)
        yield PlannedCell(
            cell,
            known.get(key),
            recorded,
            to_retry=len(statuses) - len(recorded),
            eligible=eligible.get(model_of(cell.content)),
            missing_measures=metrics.missing(measured.get(key, set()), cell.judged),
            waiting=key in pending,
            expected=durations.expected(cell.info),
        )


@dataclass(frozen=True)
class Preview:
    """What is left of a plan.

    `notes` are the plan's, and what it leaves alone in the record. `problems` says what of the record cannot be read.
    """

    plan: Plan
    cells: tuple[PlannedCell, ...]
    notes: tuple[str, ...]
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
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def preview_of(plan: Plan, registry: Registry, retry: Collection[str] = ()) -> Preview:
    """Compare `plan` with its record, without a lock and without writing anything.

    Searches with a status in `retry` count as missing. Raises RecordError if the directory of the results is not a
    record.
    """
    metrics, durations = Metrics(plan.metrics, registry), Durations()
    if not check_directory(plan.study.results, write=True):
        return Preview(plan, tuple(planned_cells(plan, None, metrics, retry, durations)), plan.notes)
    with Record.open(plan.study.results) as record:
        pending = record.pending()
        for cell in plan.cells:
            if cell.info.key in pending:
                seconds = [row["wall_seconds"] for row in record.rows(cell.info.key)]
                durations.add(cell.info, sum(seconds), len(seconds))
        cells = tuple(planned_cells(plan, record, metrics, retry, durations))
        return Preview(plan, cells, notes_of(plan, record), tuple(record.problems))


@dataclass(slots=True)
class CellProgress:
    """The searches of a cell in this run.

    `done` has (point, repetition) of the searches in the record, maybe more than the study asks for. The other fields
    are known when the cell has started: before that nothing is kept, since as many cells wait as a study has.
    """

    cell: Cell
    done: frozenset[SearchId]
    eligible: int = 0
    left: set[SearchId] = field(init=False)
    fingerprint: str = ""

    @property
    def total(self) -> int:
        """Searches that the study asks for, known when the cell has started."""
        return len(wanted_searches(self.cell, self.eligible))

    def start(self, prepared: Prepared, recorded: Iterable[Row]) -> str:
        """Take note of the model, and say what speaks against adding to the recorded searches; empty: nothing."""
        self.eligible = len(prepared.row_ids)
        self.fingerprint = prepared.fingerprint
        self.left = wanted_searches(self.cell, self.eligible) - self.done
        others = sorted({row["model_fingerprint"] for row in recorded} - {prepared.fingerprint})
        if others and self.left:
            return (
                f"its recorded searches queried the model with fingerprint {others[0]}, the model fitted here has "
                f"{prepared.fingerprint}: other versions of the libraries train another model. Share fitted models, or "
                "use another results directory"
            )
        return ""


@dataclass
class Agenda:
    """The cells of a plan by what is left to do.

    `progress` has, by key and in the plan's order, the cells with a search or a metric missing; finished ones are not
    kept, since a record may hold any number of them. `cells` has all but the `skipped` ones, and `done` counts those
    that the record holds complete.
    """

    progress: dict[str, CellProgress] = field(default_factory=dict)
    cells: list[CellInfo] = field(default_factory=list)
    done: int = 0
    skipped: int = 0
    searches: int = 0
    searches_done: int = 0


def open_agenda(plan: Plan, record: Record, metrics: Metrics, retry: Collection[str], durations: Durations) -> Agenda:
    """Compare `plan` with `record`, without loading a model.

    Skipped cells are noted in the record, and searches with a status in `retry` are removed from it.
    """
    agenda = Agenda()
    for planned in planned_cells(plan, record, metrics, retry, durations):
        cell, known = planned.cell, planned.known
        key = cell.info.key
        if cell.skipped:
            agenda.skipped += 1
            if known is None or known.skipped != cell.skipped:
                record.skip(cell.info, cell.content, cell.skipped)
            continue
        if planned.to_retry:
            record.forget(key, retry)
        agenda.cells.append(cell.info)
        agenda.searches += cell.searches
        agenda.searches_done += min(len(planned.recorded), cell.searches)
        if planned.state is CellState.DONE:
            agenda.done += 1
            durations.forget_cell(cell.info)
        else:
            agenda.progress[key] = CellProgress(cell, planned.recorded)
    record.remove(_replaced(plan, record))
    return agenda


def _replaced(plan: Plan, record: Record) -> list[str]:
    """Return cells without any search that failed or were skipped, and that the plan has with other settings.

    Settings and versions are in a cell's key: after a default was changed, no run would come back to such a cell.
    """
    planned = {_place(cell.content) for cell in plan.cells}
    keys = {cell.info.key for cell in plan.cells}
    return [
        cell.info.key
        for cell in record.cells()
        if not cell.has_results
        and cell.info.key not in keys
        and _place(cell.content) in planned
        and not record.done(cell.info.key)
    ]


def _place(content: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of a cell in a study, whatever the settings and versions of its entries."""
    names = (content[kind]["name"] for kind in ("dataset", "model", "searcher", "objective"))
    return (*names, *(content[key] for key in ("constraints", "respect_steps", "fold", "seed")))
