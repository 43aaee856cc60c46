"""What a run has to do: the plan held against the record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from cfbench.events import RunStarted
from cfbench.harness.measure import cell_metrics, identity
from cfbench.harness.plan import Cell, Plan
from cfbench.harness.progress import CellProgress
from cfbench.harness.store.record import Record
from cfbench.harness.variants import Variant
from cfbench.registry import Registry


@dataclass
class Agenda:
    """The cells of a plan by what is left to do.

    Parameters
    ----------
    progress : dict of str to CellProgress
        By cell key, all cells but the skipped ones.
    to_do : list of Cell
        Cells with a search or a metric missing, in the plan's order.
    done : int
        Cells that the record holds complete.
    skipped : int
        Cells that no searcher can run; their reasons are in the record.
    """

    progress: dict[str, CellProgress] = field(default_factory=dict)
    to_do: list[Cell] = field(default_factory=list)
    done: int = 0
    skipped: int = 0

    def started(self, plan: Plan, *, tracking: str, workers: int) -> RunStarted:
        """Return the event that opens the run."""
        return RunStarted(
            study=plan.study.name,
            results=plan.study.results,
            tracking=tracking,
            cells=tuple(progress.cell.info for progress in self.progress.values()),
            cells_done=self.done,
            searches=sum(p.cell.searches for p in self.progress.values()),
            searches_done=sum(min(len(p.done), p.cell.searches) for p in self.progress.values()),
            workers=workers,
            notes=plan.notes,
        )


def open_agenda(
    plan: Plan, record: Record, registry: Registry, metrics: Sequence[Variant], retry: Collection[str]
) -> Agenda:
    """Hold `plan` against `record`, without loading a model.

    Parameters
    ----------
    plan : Plan
    record : Record
        Skipped cells are noted in it, searches to retry are taken out of it.
    registry : Registry
    metrics : sequence of Variant
        What the study measures.
    retry : collection of str
        Statuses whose searches run again.
    """
    agenda = Agenda()
    summaries = record.summaries()
    for cell in plan.cells:
        key = cell.info.key
        known = summaries.get(key)
        if cell.skipped:
            agenda.skipped += 1
            if known is None or known.skipped != cell.skipped:
                record.skip(cell.info, cell.content, cell.skipped)
            continue
        if retry:
            record.forget(key, retry)
        progress = CellProgress(cell, set(record.done(key)))
        agenda.progress[key] = progress
        finished = known is not None and not known.failure and progress.complete_for(known.eligible)
        if finished and not unmeasured(record, registry, metrics, key):
            agenda.done += 1
            progress.closed = True
        else:
            agenda.to_do.append(cell)
    return agenda


def unmeasured(record: Record, registry: Registry, metrics: Sequence[Variant], key: str) -> tuple[Variant, ...]:
    """Return the metrics whose present version and settings the record lacks for a cell."""
    have = record.measured().get(key, set())
    return tuple(metric for metric in cell_metrics(metrics, registry) if identity(metric, registry) not in have)
