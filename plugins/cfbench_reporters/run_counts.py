"""What a run's events add up to: counts, progress, and the time that is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from cfbench.problem import Status
from cfbench.registry import CellFinished, CellInfo, CellStarted, RunStarted, SearchFinished


class RemainingTime:
    """Follows a run's events.

    The time left is that of the searches to come, spread over the workers, and that of what is no search: fitting
    models, starting processes, measuring. A cell that has not started yet is expected to cost as much of the latter as
    those that have, and a search as much as the searches of its cell on average, or of its searcher, or of all, where
    there are none nearer.

    `now`: seconds, from any fixed moment.
    """

    def __init__(self, started: RunStarted, now: float) -> None:
        self._began = now
        self._workers = max(1, started.workers)
        self._unseen = Counter(cell.searcher for cell in started.cells)
        self._n_unseen = max(0, len(started.cells) - started.cells_done)
        # Cells that the record holds send no events, and the plan's bound is for all cells together.
        self._left_unseen = max(0, started.searches - started.searches_done)
        self._left: dict[str, int] = {}
        # By key of an active cell, by searcher, and of all (the empty name).
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._searches: Counter[str] = Counter()
        self._active: dict[str, str] = {}  # searchers by cell key
        self._n_seen = 0
        self.done = started.searches_done
        """Searches in the record."""

    @property
    def total(self) -> int:
        """Searches of the plan: exact for cells that have started, an upper bound for the others."""
        return self.done + self._left_unseen + sum(self._left.values())

    def cell_started(self, event: CellStarted) -> None:
        """Replace the bound on the cell's searches by their number."""
        self._see(event.cell)
        self._left[event.cell.key] = event.searches - event.searches_done

    def search_finished(self, event: SearchFinished) -> None:
        """Count a search."""
        key = event.cell.key
        self.done += 1
        self._left[key] = max(0, self._left.get(key, 0) - 1)
        for group in (key, event.cell.searcher, ""):
            self._seconds[group] += event.wall_seconds
            self._searches[group] += 1

    def cell_finished(self, event: CellFinished) -> None:
        """Give up what is left of a failed cell."""
        self._see(event.cell)
        for by_key in (self._left, self._active, self._seconds, self._searches):
            by_key.pop(event.cell.key, None)

    def seconds_left(self, now: float) -> float | None:
        """Return the expected seconds until the run ends; None before there is anything to go by."""
        if self._searches[""] == 0:
            return None
        # Copies, since a live display asks from a thread of its own.
        cells, unseen, active = list(self._left.items()), list(self._unseen.items()), dict(self._active)
        left = sum(count * self._mean(key, active.get(key, "")) for key, count in cells)
        if self._n_unseen:
            # One look a searcher, however many cells wait: this is asked for after every cell.
            together = sum(count * self._mean(searcher) for searcher, count in unseen)
            left += self._left_unseen * together / max(1, sum(count for _, count in unseen))
        beside = max(0.0, now - self._began - self._seconds[""] / self._workers)
        return left / self._workers + self._n_unseen * beside / max(1, self._n_seen)

    def _mean(self, *groups: str) -> float:
        """Return a search's mean seconds in the first of the groups that has searched, or in all."""
        for group in (*groups, ""):
            searches, seconds = self._searches.get(group, 0), self._seconds.get(group, 0.0)
            if searches:
                return seconds / searches
        return 0.0

    def _see(self, cell: CellInfo) -> None:
        if cell.key in self._active:
            return
        self._active[cell.key] = cell.searcher
        self._n_seen += 1
        self._unseen[cell.searcher] -= 1
        if self._n_unseen:
            self._left_unseen -= round(self._left_unseen / self._n_unseen)
            self._n_unseen -= 1


@dataclass
class ActiveCell:
    """A cell that has started and is not finished."""

    cell: CellInfo
    searches: int
    searches_done: int


@dataclass
class RunCounts:
    """Counts of a run."""

    started: RunStarted
    estimate: RemainingTime
    cells_done: int  # cells in the record, those of earlier runs included, and cells that failed in this one
    cells_failed: int = 0
    statuses: Counter[str] = field(default_factory=Counter)  # how this run's searches ended
    # By cell key; the one that a search ended in last comes last.
    active: dict[str, ActiveCell] = field(default_factory=dict)

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
