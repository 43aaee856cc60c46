"""How long searches take: what the record knows of them, and how many of them travel in one batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from cfbench.registry.events import CellInfo

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


TARGET = 0.25
"""Seconds that the searches of a batch should take together."""

_SHORTEST = 1e-4
"""Seconds below which a search's duration is the clock's noise."""

_TRUSTED = 8
"""Searches of a group after which a new cell of it starts with the group's size."""

_FADES = 0.9
"""What is left, one search later, of the longest one: the first search of a worker may load a library."""

_Batch = tuple[str, str, str]


@dataclass
class _Seen:
    searches: int = 0
    longest: float = 0.0


class BatchSizes:
    """Learns from the searches that end how many may travel together."""

    def __init__(self) -> None:
        self._size: dict[str, int] = {}
        self._cells: defaultdict[str, _Seen] = defaultdict(_Seen)
        self._groups: defaultdict[_Batch, _Seen] = defaultdict(_Seen)

    def size(self, info: CellInfo, time_limit: float | None) -> int:
        """Return how many searches of a cell may travel together.

        `time_limit`: of one search. A batch has this limit as a whole, so its searches together must be far from it.
        """
        seen, group = self._cells[info.key], self._groups[_group(info)]
        longest = max(seen.longest, group.longest, _SHORTEST)
        together = TARGET if time_limit is None else min(TARGET, time_limit / 4)
        allowed = max(1, int(together / longest))
        if not seen.searches:
            return allowed if group.searches >= _TRUSTED else 1
        return min(self._size.get(info.key, 1), allowed)

    def returned(self, info: CellInfo, seconds: Iterable[float]) -> None:
        """Take note of a batch's durations; the next one may be twice as large."""
        count = 0
        for one in seconds:
            count += 1
            for seen in (self._cells[info.key], self._groups[_group(info)]):
                seen.searches += 1
                seen.longest = max(_FADES * seen.longest, one)
        self._size[info.key] = max(self._size.get(info.key, 1), 2 * count)

    def forget(self, info: CellInfo) -> None:
        """A cell is finished."""
        self._size.pop(info.key, None)
        self._cells.pop(info.key, None)


def _group(info: CellInfo) -> _Batch:
    return info.searcher, info.objective, info.model
