"""The numbers of one row of the board, each with what it is counted over.

Decision: rates are means over folds with the population standard deviation, as in the paper; losses are medians over
points, since a few far counterfactuals would rule a mean.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from cfbench.problem.outcome import Status
from cfbench.record.cells import CellSummary


@dataclass(frozen=True)
class Rate:
    """A share of successes.

    Parameters
    ----------
    mean : float or None
        Mean over the folds of the fold's own share; None where no fold has anything to count.
    sd : float or None
        Population standard deviation over the folds; None for fewer than two.
    k, n : int
        Successes and what they are counted over, summed over the folds.
    """

    mean: float | None
    sd: float | None
    k: int
    n: int


@dataclass(frozen=True)
class Median:
    """A median of values."""

    value: float | None  # None if there are no values
    k: int  # the number of values
    n: int  # the number of points that they are counted over


@dataclass(frozen=True)
class Spending:
    """What a search spent on average, over all searches, successful or not; None without any, and if it is unknown.

    Queries are means over the searches that were not killed. What one preparation took is a mean over cells, None if
    the searcher prepares nothing.
    """

    searches: int  # the denominator
    seconds: float | None
    search_queries: float | None
    robustness_queries: float | None
    prepare_seconds: float | None = None
    prepare_queries: float | None = None

    @property
    def queries(self) -> float | None:
        """Queries per search, including those of the objective."""
        if self.search_queries is None or self.robustness_queries is None:
            return None
        return self.search_queries + self.robustness_queries


def rate(counts: Sequence[tuple[int, int]]) -> Rate:
    """Return the rate of (k, n) pairs, one pair per fold; folds with nothing to count are left out.

    Examples
    --------
    >>> rate([(1, 2), (3, 3)])
    Rate(mean=0.75, sd=0.25, k=4, n=5)
    """
    shares = [k / n for k, n in counts if n]
    return Rate(
        mean=fmean(shares) if shares else None,
        sd=pstdev(shares) if len(shares) > 1 else None,
        k=sum(k for k, _ in counts),
        n=sum(n for _, n in counts),
    )


def median_of(values: Iterable[float | None], n: int) -> Median:
    """Return the median of the values that are there, counted over `n` points."""
    present = [value for value in values if value is not None and not math.isnan(value)]
    return Median(median(present) if present else None, len(present), n)


def spending(cells: Sequence[CellSummary]) -> Spending:
    """Return what a search of these cells spent on average."""
    searches = sum(cell.searches for cell in cells)
    if searches == 0:
        return Spending(0, None, None, None)
    seconds = _mean(cells, "wall_seconds", searches)
    # The queries of a killed search are unknown: it counts with its time, not with 0 queries.
    counted = searches - sum(cell.statuses.get(Status.TIMED_OUT, 0) for cell in cells)
    prepared = [cell.preparation for cell in cells if cell.preparation is not None]
    preparing = tuple(fmean(one) for one in zip(*prepared, strict=True)) or (None, None)
    if counted == 0:
        return Spending(searches, seconds, None, None, *preparing)
    return Spending(
        searches,
        seconds,
        _mean(cells, "search_queries", counted),
        _mean(cells, "robustness_queries", counted),
        *preparing,
    )


def _mean(cells: Sequence[CellSummary], name: str, n: int) -> float | None:
    """Return the mean of a field over `n` searches; None if it is unknown for a cell."""
    totals: list[float | None] = [getattr(cell, name) for cell in cells]
    return None if None in totals else sum(filter(None, totals)) / n


def statuses(cells: Iterable[CellSummary]) -> dict[str, int]:
    """Return how many searches of these cells ended in which status."""
    total: Counter[str] = Counter()
    for cell in cells:
        total.update(cell.statuses)
    return dict(sorted(total.items()))
