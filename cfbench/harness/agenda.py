"""What a run has to do: the plan held against the record."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from cfbench.events import CellInfo, RunStarted
from cfbench.harness.estimate import Durations
from cfbench.harness.plan import Cell, Plan
from cfbench.harness.progress import CellProgress
from cfbench.harness.standing import Metrics, note_of_older_cells, standings
from cfbench.harness.store.record import Record


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
    for standing in standings(plan, record, metrics, retry, durations):
        cell, known = standing.cell, standing.known
        key = cell.info.key
        if cell.skipped:
            agenda.skipped += 1
            if known is None or known.skipped != cell.skipped:
                record.skip(cell.info, cell.content, cell.skipped)
            continue
        if standing.to_retry:
            record.forget(key, retry)
        agenda.cells.append(cell.info)
        agenda.searches += cell.searches
        agenda.searches_done += min(len(standing.done), cell.searches)
        if standing.finished:
            agenda.done += 1
            durations.forget_cell(cell.info)
        else:
            agenda.progress[key] = CellProgress(cell, standing.done)
    return agenda
