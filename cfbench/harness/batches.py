"""How many searches travel together: as many as take about a quarter of a second, and one where that is not known.

A message, a wait for the disk and a hand-over cost some milliseconds. Searches of a millisecond share them; one of a
minute travels alone, so that none waits behind another. The size starts at one, doubles with every batch that returns,
and never passes what the longest search of late allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from cfbench.events import CellInfo

TARGET = 0.25
"""Seconds that the searches of a batch should take together."""

_SHORTEST = 1e-4
"""Seconds below which a search's duration is the clock's noise."""

_TRUSTED = 8
"""Searches of a group after which a new cell of it starts with the group's size."""

_FADES = 0.9
"""What is left, one search later, of the longest one: the first search of a worker may load a library."""

_Group = tuple[str, str, str]


@dataclass
class _Seen:
    searches: int = 0
    longest: float = 0.0


class BatchSizes:
    """Learns from the searches that end how many may travel together."""

    def __init__(self) -> None:
        self._size: dict[str, int] = {}
        self._cells: defaultdict[str, _Seen] = defaultdict(_Seen)
        self._groups: defaultdict[_Group, _Seen] = defaultdict(_Seen)

    def size(self, info: CellInfo, time_limit: float | None) -> int:
        """Return how many searches of a cell may travel together.

        Parameters
        ----------
        info : CellInfo
        time_limit : float or None
            Of one search. A batch has this limit as a whole, so its searches together must be far from it.
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


def _group(info: CellInfo) -> _Group:
    return info.searcher, info.objective, info.model
