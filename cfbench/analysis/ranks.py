"""Ranks of searchers: per point within a task, averaged over its points, then over tasks; positions and groups.

A searcher that found nothing for a point shares the last ranks; no point is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, count, pairwise
from numbers import Real

import numpy as np

from cfbench.analysis.significance import holm
from cfbench.errors import StudyError
from cfbench.space.space import BoolArray, FloatArray, IntArray

DECIMALS = 12
"""Differences of means that are equal but for rounding count as equal."""


def signed_rank_p(differences: FloatArray) -> float:
    """Return the two-sided p-value of paired differences; zeros say nothing and are dropped, as Wilcoxon did.

    It is the chance, if every difference's sign were a coin's, of rank sums at least as far apart as these; 1 where all
    differences are zero.
    """
    rounded = np.round(differences, DECIMALS)
    moved = rounded[rounded != 0]
    sizes = np.abs(moved)
    # Twice the midranks, so that ties stay whole numbers.
    ranks = [2 * int((sizes < size).sum()) + int((sizes == size).sum()) + 1 for size in sizes]
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    for rank in ranks:
        chances[rank:] = (chances[rank:] + chances[:-rank]) / 2
        chances[:rank] /= 2
    above = sum(rank for rank, difference in zip(ranks, moved, strict=True) if difference > 0)
    return float(min(1.0, 2 * min(chances[: above + 1].sum(), chances[above:].sum())))


BOOTSTRAPS = 2000
LEVEL = 0.95
SEED = 20230
"""Intervals are the same whenever a board is made from the same record."""

EQUAL = 1e-9
"""Mean ranks that differ by less are equal: sums of equal ranks differ in their last bits."""


@dataclass(frozen=True)
class Tolerance:
    """How far apart two values of one point may be and still count as equal.

    Raises StudyError if it is negative, 1 or more, infinite, or not a number.
    """

    relative: float = 0.001  # as a share of the better value, from 0 (only equal values are ties) to below 1

    @classmethod
    def parse(cls, text: str) -> Tolerance:
        """Return the tolerance written as text. Raises StudyError if it is no number that a tolerance can be."""
        try:
            value = float(text)
        except ValueError:
            raise _refused(text) from None
        return cls(value)

    def __post_init__(self) -> None:
        value: object = self.relative
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
            raise _refused(value)

    @property
    def absolute(self) -> float:
        """The absolute tolerance: a tenth of the relative one, in the unit of the loss."""
        return self.relative / 10

    def limit(self, best: FloatArray) -> FloatArray:
        """Return the largest values that are ties with `best`."""
        if self.relative == 0:
            return best
        limit: FloatArray = best + np.maximum(self.relative * np.abs(best), self.absolute)
        return limit

    def __str__(self) -> str:
        if self.relative == 0:
            return "only equal values are ties"
        return f"values within {100 * self.relative:.6g} % or {self.absolute:.6g} of the best are ties"


def _refused(value: object) -> StudyError:
    return StudyError(
        f"the tolerance for ties (--tie) is {value!r}; it must be a number from 0 (only equal values are ties) to "
        "below 1, such as 0.001 for values within 0.1 % of each other"
    )


DEFAULT_TOLERANCE = Tolerance()


def point_ranks(values: FloatArray, tolerance: Tolerance) -> FloatArray:
    """Rank searchers at each point: 1 is the best, and ties share the mean of their ranks.

    Values have shape (searchers, points), the smaller the better, infinity where nothing was found; so have ranks.
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    number = len(values)
    first = np.zeros(values.shape, dtype=np.int64)  # where the group of each place begins, and where it ends
    last = np.full(values.shape, number - 1, dtype=np.int64)
    limit = tolerance.limit(ordered[0])
    for place in range(1, number):
        outside = ordered[place] > limit
        first[place] = np.where(outside, place, first[place - 1])
        limit = np.where(outside, tolerance.limit(ordered[place]), limit)
    for place in range(number - 2, -1, -1):
        last[place] = np.where(first[place + 1] == place + 1, place, last[place + 1])
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=0)
    return ranks


def task_ranks(values: FloatArray, tolerance: Tolerance) -> FloatArray:
    """Return each searcher's mean rank over the points of one task; the parameters are those of `point_ranks`."""
    means: FloatArray = point_ranks(values, tolerance).mean(axis=1)
    return means


def pair_advantages(values: FloatArray, tolerance: Tolerance) -> FloatArray:
    """Compare every two searchers over the points of one task, by their two values alone: shape (searchers, searchers).

    Each number is the share of points at which the row's searcher is better than the column's, less the share at which
    it is worse; half of it is the difference of their mean ranks among the two.
    """
    limits = tolerance.limit(values)
    better = np.array([(values > own).sum(axis=1) for own in limits])
    advantages: FloatArray = (better - better.T) / values.shape[1]
    return advantages


def equal_means(means: FloatArray) -> FloatArray:
    """Return mean ranks in which those that are equal but for rounding are the same number.

    What orders rows and numbers their positions is this alone, so that both always agree.
    """
    order = np.argsort(means, kind="stable")
    equal = means.copy()
    for before, at in pairwise(order):
        if means[at] - equal[before] <= EQUAL:
            equal[at] = equal[before]
    return equal


def rank_intervals(ranks: FloatArray, units: Sequence[int] | IntArray) -> FloatArray:
    """Return an interval of each searcher's mean rank, shape (searchers, 2), by resampling units of tasks.

    Ranks have shape (searchers, tasks), and `units` says which unit, from 0, a task belongs to. Tasks that share data
    set and model are not independent samples: they form one unit and are drawn together.
    """
    sizes = np.bincount(units)
    totals = np.array([np.bincount(units, weights=own) for own in ranks])
    drawn = np.random.default_rng(SEED).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), BOOTSTRAPS)
    means = (totals @ drawn.T) / (sizes @ drawn.T)
    tails = 100 * np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    intervals: FloatArray = np.percentile(means, tails, axis=1).T
    return intervals


def unit_means(ranks: FloatArray, units: Sequence[int] | IntArray) -> FloatArray:
    """Average tasks of one unit: (searchers, tasks) in, (searchers, units) out."""
    means: FloatArray = np.array([np.bincount(units, weights=own) for own in ranks]) / np.bincount(units)
    return means


def task_wins(ranks: FloatArray, separating: BoolArray) -> IntArray:
    """Count for each searcher the tasks in which no other has a smaller mean rank; ties count for each of them.

    Only tasks that are `separating`, in which a searcher found something, have a winner.
    """
    wins: IntArray = (separating & (ranks <= ranks.min(axis=0) + EQUAL)).sum(axis=1)
    return wins


FEWEST = 6
"""Fewest independent tasks for an interval, and for a test of two searchers: five never give a p below 0.05."""
ALPHA = 0.05


@dataclass(frozen=True)
class Position:
    """Where a row stands by its mean rank."""

    number: int  # from 1: one more than the number of rows with a smaller mean rank
    shared: bool  # whether another row has an equal mean rank

    def __str__(self) -> str:
        return f"{self.number}=" if self.shared else f"{self.number} "


@dataclass(frozen=True)
class SearcherPair:
    """Two ranked searchers, task by task, by their own two values alone."""

    first: int  # its row of the board, which is placed before the second's
    second: int
    wins: int  # tasks in which the first is better at more points than it is worse
    losses: int
    ties: int
    # Signed rank test over independent tasks, corrected by Holm over all pairs of the board; None where the tasks
    # are too few
    p: float | None


def positions(means: FloatArray) -> list[Position]:
    """Number searchers by their mean ranks; equal means share a number."""
    equal = equal_means(means)
    return [Position(1 + int((equal < own).sum()), shared=bool((equal == own).sum() > 1)) for own in equal]


def group_letters(ranks: FloatArray, finders: int) -> list[str]:
    """Group searchers that are not significantly different from their group's first.

    Each group's first is compared with all that stand behind it (Wilcoxon's signed rank over tasks, Holm's correction
    over these comparisons); the group ends before the first one that differs significantly. A searcher that found
    nothing at all shares no group with one that found something, whatever the test says. `ranks` has shape
    (searchers, units) and is sorted by its means; the first `finders` searchers found anything.
    """
    letters: list[str] = []
    for group in count():
        first = len(letters)
        if first == len(ranks):
            break
        behind = ranks[first + 1 :] - ranks[first]
        corrected = holm(np.array([signed_rank_p(difference) for difference in behind]))
        apart = np.flatnonzero(corrected < ALPHA)
        size = 1 + (int(apart[0]) if len(apart) else len(behind))
        if first < finders:
            size = min(size, finders - first)
        letters += [_letter(group)] * size
    return letters


def _letter(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ... for 0, 1, ..."""
    letters = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("a") + place) + letters
    return letters


def fewest_units(searchers: int) -> int:
    """Return how many independent tasks it takes for the first of a board to differ significantly from another.

    With all signs alike the test of n differences has p = 2 / 2**n; Holm's correction multiplies it by the number of
    searchers behind the first.
    """
    return next(units for units in count(FEWEST) if (searchers - 1) * 2.0 ** (1 - units) < ALPHA)


def searcher_pairs(advantages: FloatArray, units: Sequence[int] | IntArray, *, tested: bool) -> list[SearcherPair]:
    """Compare every two searchers, by their advantages in each task, shape (tasks, searchers, searchers)."""
    pairs = list(combinations(range(advantages.shape[1]), 2))
    sizes = np.bincount(units)
    corrected: list[float | None] = [None] * len(pairs)
    if tested:
        means = [np.bincount(units, weights=advantages[:, i, j]) / sizes for i, j in pairs]
        corrected = list(holm(np.array([signed_rank_p(mean) for mean in means])).tolist())
    found = []
    for (i, j), p in zip(pairs, corrected, strict=True):
        advantage = advantages[:, i, j]
        wins, losses = int((advantage > EQUAL).sum()), int((advantage < -EQUAL).sum())
        found.append(SearcherPair(i, j, wins, losses, len(advantage) - wins - losses, p))
    return found
