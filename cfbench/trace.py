"""The trace of a search: what was asked, seen from the problem's side, for anytime curves and exhausted budgets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cfbench.space import BoolArray, FloatArray


@dataclass
class Trace:
    """What a problem sees of its search. The harness reads it when the search has ended.

    Attributes
    ----------
    anytime : list of (int, float)
        (rows asked, best base loss until then), a pair whenever the best improved.
    figures : dict of str to float
        What the searcher reported.
    reason : str
        Why it returns nothing, as it says; empty where it does not say.
    """

    anytime: list[tuple[int, float]] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    _lowest_loss: float = np.inf
    _by_cost: tuple[float, FloatArray | None] = (np.inf, None)
    _by_value: tuple[float, FloatArray | None] = (np.inf, None)

    @property
    def best_asked(self) -> FloatArray | None:
        """The plausible target row with the smallest objective value, shape (d,).

        Where no objective value was asked, the cheapest one: a cost and a value with a robustness term have no scale in
        common, so they are never ranked together.
        """
        return self._by_cost[1] if self._by_value[1] is None else self._by_value[1]

    def note_classes(self, Z: FloatArray, good: BoolArray, cost: FloatArray, asked_before: int) -> None:
        """Take note of rows whose class was asked.

        Parameters
        ----------
        Z : ndarray of float64, shape (n, d)
        good : ndarray of bool, shape (n,)
            Which rows are plausible and of the target class; their base loss is their cost.
        cost : ndarray of float64, shape (n,)
        asked_before : int
            Rows that the searcher had asked before these.
        """
        hits = np.flatnonzero(good)
        if len(hits) == 0:
            return
        costs = cost[hits]
        if not costs.min() < self._lowest_loss:
            return
        running = np.minimum.accumulate(np.concatenate(([self._lowest_loss], costs)))
        improved = np.flatnonzero(running[1:] < running[:-1])
        self.anytime += [(int(asked_before + hits[i] + 1), float(running[i + 1])) for i in improved]
        self._lowest_loss = float(running[-1])
        self._by_cost = _better(self._by_cost, Z, hits, cost)

    def note_values(self, Z: FloatArray, good: BoolArray, values: FloatArray) -> None:
        """Take note of rows whose objective value was asked, shapes as in `note_classes`."""
        hits = np.flatnonzero(good)
        if len(hits):
            self._by_value = _better(self._by_value, Z, hits, values)


def _better(
    best: tuple[float, FloatArray | None],
    Z: FloatArray,
    hits: np.ndarray[tuple[int], np.dtype[np.intp]],
    rank: FloatArray,
) -> tuple[float, FloatArray | None]:
    first = hits[np.argmin(rank[hits])]
    return (float(rank[first]), Z[first].copy()) if rank[first] < best[0] else best
