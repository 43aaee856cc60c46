"""What searches have taken so far, by how near they are to those that are still to run. The record is all it knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cfbench.events import CellInfo

if TYPE_CHECKING:
    from cfbench.harness.store.summary import CellSummary

NEARNESS = (
    "of the same cell",
    "on other folds",
    "of the same searcher, objective and model",
    "of the same searcher and objective",
    "of the same searcher",
)
"""What searches an expectation is taken from, the nearest first."""

_Group = tuple[int, tuple[object, ...]]


@dataclass
class Durations:
    """Mean seconds of a search, of the cell itself or of the nearest group of cells that has searched.

    Other searchers say nothing: one may take a millisecond, another a minute.
    """

    _seconds: defaultdict[_Group, float] = field(default_factory=lambda: defaultdict(float))
    _searches: defaultdict[_Group, int] = field(default_factory=lambda: defaultdict(int))

    @classmethod
    def of(cls, summaries: Iterable[CellSummary]) -> Durations:
        """Take in all searches of a record."""
        durations = cls()
        for summary in summaries:
            if summary.searches:
                durations.add(summary.info, summary.wall_seconds, summary.searches)
        return durations

    def add(self, info: CellInfo, seconds: float, searches: int = 1) -> None:
        """Take in searches of a cell that took `seconds` together."""
        for group in _groups(info):
            self._seconds[group] += seconds
            self._searches[group] += searches

    def expected(self, info: CellInfo) -> tuple[float, str] | None:
        """Return the seconds of a search of a cell and what they are taken from; None where nothing is known."""
        for group in _groups(info):
            if self._searches[group]:
                return self._seconds[group] / self._searches[group], NEARNESS[group[0]]
        return None


def _groups(info: CellInfo) -> list[_Group]:
    searcher = (info.searcher, info.objective)
    names = (
        (info.key,),
        (*searcher, info.model, info.dataset, info.constraints),
        (*searcher, info.model),
        searcher,
        (info.searcher,),
    )
    return list(enumerate(names))
