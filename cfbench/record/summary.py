"""A finished cell in one line: what the leaderboard needs, without opening the cell's table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cfbench.registry.events import CellInfo


@dataclass(frozen=True)
class CellSummary:
    """One line of the record's index.

    A search has *succeeded* where its row has a loss: a plausible point of the target class, confirmed by the judge.
    A point's result is its successful repetition with the smallest objective value.

    Parameters
    ----------
    info : CellInfo
    content : dict
        All that the cell's key is a digest of, settings with their defaults filled in.
    eligible : int
        Points of the test fold with another class than the target.
    repetitions : int
        The most repetitions that any point has.
    searches : int
    statuses : dict of str to int
        How many searches ended in which status.
    wall_seconds, cpu_seconds : float
        Sums over the searches.
    search_queries, robustness_queries : int
        Sums over the searches, in rows.
    fingerprints : tuple of str
        Fingerprints of the fitted models; more than one is a warning on the board.
    points, row_ids, tries, successes : tuple of int
        A point each, in order: its position among the fold's eligible points, its row in the data set, its searches,
        its successful searches.
    results : tuple of int or None
        A point each: the repetition that found its result; None where no search succeeded.
    loss, objective_value : tuple of float or None
        A point each: of its result; None where no search succeeded.
    seconds : tuple of float or None
        A point each: wall-clock seconds of the search that found its result; None where no search succeeded.
    queries : tuple of int or None
        A point each: rows that search asked, the objective's included; None where no search succeeded.
    skipped : str
        Why the cell was not run; empty where it was.
    failure : str
        Why the cell failed (data, model or worker) when it ran last; empty where it did not. A failed cell runs again.
    """

    info: CellInfo
    content: dict[str, Any] = field(default_factory=dict)
    eligible: int = 0
    repetitions: int = 0
    searches: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    search_queries: int = 0
    robustness_queries: int = 0
    fingerprints: tuple[str, ...] = ()
    points: tuple[int, ...] = ()
    row_ids: tuple[int, ...] = ()
    tries: tuple[int, ...] = ()
    successes: tuple[int, ...] = ()
    results: tuple[int | None, ...] = ()
    loss: tuple[float | None, ...] = ()
    objective_value: tuple[float | None, ...] = ()
    seconds: tuple[float | None, ...] = ()
    queries: tuple[int | None, ...] = ()
    skipped: str = ""
    failure: str = ""

    @property
    def has_results(self) -> bool:
        """Whether there is something to show: searches that ended, or a cell that ended without any to make.

        What an earlier run finished stays a result where a later one could not go on with the cell.
        """
        return self.searches > 0 or not (self.skipped or self.failure)
