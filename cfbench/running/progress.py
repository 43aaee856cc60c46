"""How far a run is: the plan compared with the record, the cells that are left, and what the run did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import pandas as pd

from cfbench.digests import digest_of
from cfbench.record.cells import CellSummary, model_of
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo, RunStarted
from cfbench.registry.registry import Registry
from cfbench.running.estimate import Durations
from cfbench.running.measure import cell_metrics, identity
from cfbench.running.objective_measures import objective_measure
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


@dataclass(frozen=True)
class PlannedCell:
    """A cell of the plan, compared with the record.

    Parameters
    ----------
    cell : Cell
    known : CellSummary or None
        What the record says of it, in outline.
    done : frozenset of (int, int)
        (point, repetition) of the searches that count as done; it may hold more than is asked for.
    to_retry : int
        Searches that the record holds and that are to run again.
    eligible : int or None
        Eligible points of the fold, where the record knows them from this cell or from another one of its model.
    unmeasured : tuple of Variant
        Metrics that the record lacks, and values under further objectives that the cell is judged under.
    waiting : bool
        Whether some of its searches wait for the cell to be finished: a kill came before its end.
    """

    cell: Cell
    known: CellSummary | None
    done: frozenset[SearchId]
    to_retry: int = 0
    eligible: int | None = None
    unmeasured: tuple[Variant, ...] = ()
    waiting: bool = False

    @property
    def all_searched(self) -> bool:
        """Whether the record holds every search that is asked for, as a cell that was finished."""
        if self.known is None or self.known.failure or not self.known.searches or self.to_retry:
            return False
        recorded = self.known.done.keys() if self.waiting else self.done
        return wanted_searches(self.cell, self.known.eligible) <= recorded

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.all_searched and not self.unmeasured

    @property
    def searches(self) -> int:
        """Searches that are asked for; an upper bound where the eligible points are not known."""
        return self.cell.searches if self.eligible is None else len(wanted_searches(self.cell, self.eligible))

    @property
    def searches_done(self) -> int:
        """Those among them that the record holds."""
        if self.eligible is None:
            return min(len(self.done), self.cell.searches)
        return len(wanted_searches(self.cell, self.eligible) & self.done)


def wanted_searches(cell: Cell, eligible: int) -> set[SearchId]:
    """Return (point, repetition) of all searches that a cell asks for, where the fold has so many eligible points."""
    points = eligible if cell.points is None else min(cell.points, eligible)
    return {(point, repetition) for point in range(points) for repetition in range(cell.repetitions)}


class Metrics:
    """The metrics of a study that are about single cells, with what identifies their values in the record.

    Parameters
    ----------
    metrics : iterable of Variant
    registry : Registry
    """

    def __init__(self, metrics: Sequence[Variant], registry: Registry) -> None:
        self._registry = registry
        self._wanted = [(identity(metric, registry), metric) for metric in cell_metrics(metrics, registry)]

    def missing(self, have: Collection[MetricId], judged: Iterable[Variant] = ()) -> tuple[Variant, ...]:
        """Return those whose present version and settings are not among `have`.

        Parameters
        ----------
        have : collection of MetricId
            What was measured of a cell.
        judged : iterable of Variant
            Objectives under which the cell's results are judged as well; their measures follow the metrics.
        """
        under = [(identity(measure, self._registry), measure) for measure in map(objective_measure, judged)]
        return tuple(measure for its_identity, measure in (*self._wanted, *under) if its_identity not in have)


def note_of_older_cells(plan: Plan, keys: Collection[str]) -> str:
    """Say how many cells of the plan are in a record with points in the order of the table; empty if none is.

    Earlier versions of cfbench took the first rows of a table. Their cells are never continued: a cell would mix two
    orders.

    Parameters
    ----------
    plan : Plan
    keys : collection of str
        Of the record's cells.
    """
    older = sum(
        digest_of({name: value for name, value in cell.content.items() if name != "points"}) in keys
        for cell in plan.cells
        if not cell.skipped
    )
    if not older:
        return ""
    whose = "has its" if older == 1 else "have their"
    return (
        f"{plural(older, 'cell')} of this record {whose} points in the order of the table, as earlier versions took "
        "them; this study draws its points, so it searches again and leaves those cells as they are"
    )


def planned_cells(
    plan: Plan, record: Record | None, metrics: Metrics, retry: Collection[str] = (), durations: Durations | None = None
) -> Iterator[PlannedCell]:
    """Hold every cell of `plan` against the record, in the plan's order.

    Parameters
    ----------
    plan : Plan
    record : Record or None
        None: there is none yet.
    metrics : Metrics
    retry : collection of str
        Statuses whose searches count as not done.
    durations : Durations, optional
        Told of all searches of finished cells, before the first standing is returned.
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
            if durations is not None and one.searches:
                durations.add(one.info, one.wall_seconds, one.searches)
            if one.searches and not one.failure:
                eligible[model_of(one.content)] = one.eligible
    for cell in plan.cells:
        key = cell.info.key
        outline = known.get(key)
        if cell.skipped:
            yield PlannedCell(cell, outline, frozenset())
            continue
        statuses = {} if record is None else record.done(key)
        kept = frozenset(search for search, status in statuses.items() if status not in retry)
        yield PlannedCell(
            cell,
            outline,
            kept,
            to_retry=len(statuses) - len(kept),
            eligible=eligible.get(model_of(cell.content)),
            unmeasured=metrics.missing(measured.get(key, set()), cell.judged),
            waiting=key in pending,
        )


@dataclass(slots=True)
class CellProgress:
    """The searches of a cell in this run.

    Parameters
    ----------
    cell : Cell
    done : frozenset of (int, int)
        (point, repetition) of the searches in the record; it may hold more than is asked for.
    eligible : int
        Eligible points of the fold, known when the cell has started.
    left : set of (int, int)
        Searches still to run, known when the cell has started; before that nothing is kept here, since as many cells
        wait as a study has.
    fingerprint : str
        Of the fitted model, known when the cell has started.
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

    def start(self, prepared: Prepared, recorded: pd.DataFrame) -> str:
        """Take note of the model, and say what speaks against adding to the recorded searches; empty: nothing."""
        self.eligible = len(prepared.row_ids)
        self.fingerprint = prepared.fingerprint
        self.left = wanted_searches(self.cell, self.eligible) - self.done
        others = sorted(set(recorded["model_fingerprint"]) - {prepared.fingerprint})
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

    Parameters
    ----------
    progress : dict of str to CellProgress
        By cell key, the cells with a search or a metric missing, in the plan's order. Finished ones are not kept: a
        record may hold any number of them.
    cells : list of CellInfo
        All cells but the skipped ones.
    done : int
        Cells that the record holds complete.
    skipped : int
        Cells that no searcher can run; their reasons are in the record.
    searches, searches_done : int
        What the plan asks for, and what the record holds of it.
    note : str
        That the record holds cells of an earlier version which are not continued; empty if it holds none.
    """

    progress: dict[str, CellProgress] = field(default_factory=dict)
    cells: list[CellInfo] = field(default_factory=list)
    done: int = 0
    skipped: int = 0
    searches: int = 0
    searches_done: int = 0
    note: str = ""

    @property
    def to_do(self) -> list[Cell]:
        """Cells with a search or a metric missing, in the plan's order."""
        return [progress.cell for progress in self.progress.values()]

    def started(self, plan: Plan, *, tracking: str, workers: int) -> RunStarted:
        """Return the event that opens the run."""
        return RunStarted(
            study=plan.study.name,
            results=plan.study.results,
            tracking=tracking,
            cells=tuple(self.cells),
            cells_done=self.done,
            searches=self.searches,
            searches_done=self.searches_done,
            workers=workers,
            notes=tuple(filter(None, (*plan.notes, self.note))),
        )


def open_agenda(plan: Plan, record: Record, metrics: Metrics, retry: Collection[str], durations: Durations) -> Agenda:
    """Hold `plan` against `record`, without loading a model.

    Parameters
    ----------
    plan : Plan
    record : Record
        Skipped cells are noted in it, searches to retry are taken out of it.
    metrics : Metrics
        What the study measures.
    retry : collection of str
        Statuses whose searches run again.
    durations : Durations
        Told of all searches of finished cells.
    """
    agenda = Agenda(note=note_of_older_cells(plan, record.keys()))
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
        agenda.searches_done += min(len(planned.done), cell.searches)
        if planned.finished:
            agenda.done += 1
            durations.forget_cell(cell.info)
        else:
            agenda.progress[key] = CellProgress(cell, planned.done)
    return agenda
