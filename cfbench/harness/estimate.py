"""What searches have taken so far, by how near they are to those that are still to run. The record is all it knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from cfbench.events import CellInfo

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

    _totals: dict[_Group, tuple[float, int]] = field(default_factory=dict)

    def add(self, info: CellInfo, seconds: float, searches: int = 1) -> None:
        """Take in searches of a cell that took `seconds` together."""
        for group in _groups(info):
            so_far = self._totals.get(group, (0.0, 0))
            self._totals[group] = (so_far[0] + seconds, so_far[1] + searches)

    def expected(self, info: CellInfo) -> tuple[float, str] | None:
        """Return the seconds of a search of a cell and what they are taken from; None where nothing is known."""
        for group in _groups(info):
            if group in self._totals:
                seconds, searches = self._totals[group]
                return seconds / max(searches, 1), NEARNESS[group[0]]
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
