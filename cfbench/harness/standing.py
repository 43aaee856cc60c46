"""How the record stands to a plan: which searches and metrics of each cell it holds. Nothing is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cfbench.counts import plural
from cfbench.digests import digest_of
from cfbench.harness.estimate import Durations
from cfbench.harness.measure import cell_metrics, identity
from cfbench.harness.objective_measures import objective_measure
from cfbench.harness.plan import Cell, Plan
from cfbench.harness.store.outlines import Outline, model_of
from cfbench.harness.variants import Variant
from cfbench.registry import Registry

if TYPE_CHECKING:
    from cfbench.harness.store.record import Record

MetricId = tuple[str, str, str]
SearchId = tuple[int, int]


@dataclass(frozen=True)
class Standing:
    """A cell of the plan, held against the record.

    Parameters
    ----------
    cell : Cell
    known : Outline or None
        What the record says of it.
    done : frozenset of (int, int)
        (point, repetition) of the searches that count as done; it may hold more than is asked for.
    to_retry : int
        Searches that the record holds and that are to run again.
    eligible : int or None
        Eligible points of the fold, where the record knows them from this cell or from another one of its model.
    unmeasured : tuple of Variant
        Metrics that the record lacks, and values under further objectives that the cell is judged under.
    waiting : bool
        Whether some of its searches are in a journal: a kill came between the last of them and the cell's end.
    """

    cell: Cell
    known: Outline | None
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
        held = self.known.done.keys() if self.waiting else self.done
        return wanted_searches(self.cell, self.known.eligible) <= held

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


def standings(
    plan: Plan, record: Record | None, metrics: Metrics, retry: Collection[str] = (), durations: Durations | None = None
) -> Iterator[Standing]:
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
    known: dict[str, Outline] = {}
    pending: set[str] = set()
    measured: Mapping[str, AbstractSet[MetricId]] = {}
    if record is not None:
        pending, measured = record.pending(), record.measured()
        for info, seconds, one in record.outlines():
            known[info.key] = one
            if durations is not None and one.searches:
                durations.add(info, seconds, one.searches)
    eligible = {one.model: one.eligible for one in known.values() if one.searches and not one.failure}
    for cell in plan.cells:
        key = cell.info.key
        outline = known.get(key)
        if cell.skipped:
            yield Standing(cell, outline, frozenset())
            continue
        statuses = {} if record is None else record.done_of(key, outline, has_journal=key in pending)
        kept = frozenset(search for search, status in statuses.items() if status not in retry)
        yield Standing(
            cell,
            outline,
            kept,
            to_retry=len(statuses) - len(kept),
            eligible=eligible.get(model_of(cell.content)),
            unmeasured=metrics.missing(measured.get(key, set()), cell.judged),
            waiting=key in pending,
        )
