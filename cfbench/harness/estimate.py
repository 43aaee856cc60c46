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
_Total = tuple[float, int]
"""Seconds, searches."""


@dataclass
class Durations:
    """Mean seconds of a search, of the cell itself or of the nearest group of cells that has searched.

    Other searchers say nothing: one may take a millisecond, another a minute.
    """

    _cells: dict[str, _Total] = field(default_factory=dict)  # a record may have any number of them
    _groups: dict[_Group, _Total] = field(default_factory=dict)

    def add(self, info: CellInfo, seconds: float, searches: int = 1) -> None:
        """Take in searches of a cell that took `seconds` together."""
        so_far = self._cells.get(info.key, (0.0, 0))
        self._cells[info.key] = (so_far[0] + seconds, so_far[1] + searches)
        for group in _groups_of(info):
            so_far = self._groups.get(group, (0.0, 0))
            self._groups[group] = (so_far[0] + seconds, so_far[1] + searches)

    def forget_cell(self, info: CellInfo) -> None:
        """A cell has no search left: what it took counts for others, and no longer for itself."""
        self._cells.pop(info.key, None)

    def expected(self, info: CellInfo) -> tuple[float, str] | None:
        """Return the seconds of a search of a cell and what they are taken from; None where nothing is known."""
        known = [(0, self._cells.get(info.key))]
        known += [(group[0], self._groups.get(group)) for group in _groups_of(info)]
        for nearness, total in known:
            if total is not None:
                return total[0] / max(total[1], 1), NEARNESS[nearness]
        return None


def _groups_of(info: CellInfo) -> list[_Group]:
    searcher = (info.searcher, info.objective)
    names = (
        (*searcher, info.model, info.dataset, info.constraints),
        (*searcher, info.model),
        searcher,
        (info.searcher,),
    )
    return list(enumerate(names, start=1))
