"""The trace of a search: what was queried, seen from the problem's side, for anytime curves and exhausted budgets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cfbench.space.space import BoolArray, FloatArray


class Shortlist:
    """The `n_kept` distinct rows with the smallest values among all rows that were added, the best first.

    A row that is added several times is kept once, with its smallest value; of equal values the first one stays.
    """

    def __init__(self, n_kept: int) -> None:
        self.n_kept = n_kept
        self.rows: tuple[FloatArray, ...] = ()
        self.values: tuple[float, ...] = ()

    def add(self, Z: FloatArray, values: FloatArray) -> None:
        """Add the rows of `Z`, shape (n, d), with their values, shape (n,). Rows without a finite value are ignored."""
        bound = self.values[-1] if len(self.values) == self.n_kept else np.inf
        better = np.flatnonzero(values < bound)
        if len(better) == 0:
            return
        rows = [*self.rows, *Z[better]]
        rank = np.concatenate([self.values, values[better]])
        kept: dict[bytes, int] = {}
        for place in np.argsort(rank, kind="stable"):
            kept.setdefault((rows[place] + 0.0).tobytes(), int(place))  # adding 0.0 turns a -0.0 into 0.0
            if len(kept) == self.n_kept:
                break
        self.rows = tuple(rows[place].copy() for place in kept.values())
        self.values = tuple(float(rank[place]) for place in kept.values())


@dataclass
class Trace:
    """What a problem sees of its search. The harness reads it when the search has ended.

    `by_value` has the feasible rows of the target class with the smallest objective values, `anytime` a pair (queries,
    best base loss until then) per improvement, and `figures` and `reason` what the searcher says. `reported` is the set
    that it reported last, shape (k, d).
    """

    by_value: Shortlist = field(default_factory=lambda: Shortlist(1))
    anytime: list[tuple[int, float]] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    reason: str = ""
    reported: FloatArray | None = None
    _lowest_loss: float = np.inf
    _by_cost: Shortlist = field(default_factory=lambda: Shortlist(1))

    @property
    def best_asked(self) -> FloatArray | None:
        """The feasible target row with the smallest objective value, shape (d,); None if there is none."""
        return self.candidates[0] if self.candidates else None

    @property
    def candidates(self) -> tuple[FloatArray, ...]:
        """The feasible target rows that a result is chosen from where a budget is used up, the smallest value first.

        If no objective value was queried, this is the row with the smallest cost: a cost and a value with a robustness
        term have no common scale, so they are never ranked together.
        """
        return self.by_value.rows or self._by_cost.rows

    def note_classes(self, Z: FloatArray, good: BoolArray, cost: FloatArray, asked_before: int) -> None:
        """Take note of rows whose class was queried, after `asked_before` rows before these.

        The `good` rows are feasible and of the target class; their base loss is their cost.
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
        self._by_cost.add(Z[hits], costs)

    def note_values(self, Z: FloatArray, good: BoolArray, values: FloatArray) -> None:
        """Take note of rows whose objective value was queried, shapes as in `note_classes`."""
        if good.any():
            self.by_value.add(Z[good], values[good])
