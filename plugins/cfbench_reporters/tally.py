"""What a run's events add up to, for whoever shows it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from cfbench import CellFinished, CellInfo, CellStarted, RunStarted, SearchFinished, Status
from cfbench_reporters.estimate import Estimate


@dataclass
class ActiveCell:
    """A cell that has started and is not finished."""

    cell: CellInfo
    searches: int
    searches_done: int


@dataclass
class Tally:
    """Counts of a run.

    Parameters
    ----------
    started : RunStarted
    estimate : Estimate
    cells_done, cells_failed : int
        Cells in the record, those of earlier runs included, and cells that failed in this one.
    statuses : Counter of str
        How this run's searches ended.
    active : dict of str to ActiveCell
        By cell key; the one that a search ended in last comes last.
    """

    started: RunStarted
    estimate: Estimate
    cells_done: int
    cells_failed: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    active: dict[str, ActiveCell] = field(default_factory=dict)

    @classmethod
    def of(cls, started: RunStarted, now: float) -> Tally:
        """Begin to count at `now`, in the seconds of the estimate's clock."""
        return cls(started, Estimate(started, now), started.cells_done)

    def cell_started(self, event: CellStarted) -> None:
        """Take the cell in."""
        self.estimate.cell_started(event)
        self.active[event.cell.key] = ActiveCell(event.cell, event.searches, event.searches_done)

    def search_finished(self, event: SearchFinished) -> None:
        """Count the search, and take its cell for the current one."""
        self.estimate.search_finished(event)
        self.statuses[str(event.status)] += 1
        current = self.active.pop(event.cell.key, None)
        if current is not None:
            current.searches_done += 1
            self.active[event.cell.key] = current

    def cell_finished(self, event: CellFinished) -> None:
        """Count the cell."""
        self.estimate.cell_finished(event)
        self.active.pop(event.cell.key, None)
        if event.failure:
            self.cells_failed += 1
        else:
            self.cells_done += 1


FAILURES = (Status.INVALID, Status.TIMED_OUT, Status.CRASHED)
"""Statuses whose reasons a reader wants to see while the run goes on."""


def described(cell: CellInfo) -> str:
    """Name a cell in one line."""
    constraints = ", constraints" if cell.constraints else ""
    return printable(
        f"{cell.searcher} on {cell.dataset}, {cell.model}, {cell.objective}, fold {cell.fold}{constraints}"
    )


def counted(statuses: Counter[str]) -> str:
    """Count statuses in one line, the frequent ones first: ``18 found, 2 not found``."""
    return ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in statuses.most_common())


def several(count: int, one: str, many: str) -> str:
    """Say how many there are: ``1 cell``, ``2 cells``."""
    return f"{count:,} {one if count == 1 else many}"


def duration(seconds: float) -> str:
    """Say `seconds` as a reader would: ``45 s``, ``12 min``, ``2 h 5 min``."""
    minutes = round(seconds / 60)
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def printable(text: str) -> str:
    """Return `text` in one line and without what could steer a terminal: names and reasons come from anywhere."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
