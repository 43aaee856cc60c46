"""Positions on a board, groups without a significant difference, and every two searchers compared.

Decision: a position says where a row's mean rank stands, and nothing else: 1, 2, 3 and so on; rows of equal mean ranks
share a number, marked "1=". Whether a difference is significant is another question, with an answer of its own: a
letter for each group of rows that are not significantly different from the group's first row. Where no result could be
significant, since there are too few tasks for so many searchers, there are no letters and no p-values, and the board
says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, count

import numpy as np

from cfbench.analysis.ranks import EQUAL, equal_means
from cfbench.analysis.signed_rank import signed_rank_p
from cfbench.analysis.significance import holm
from cfbench.space import FloatArray, IntArray

FEWEST = 6
"""Fewest independent tasks for an interval, and for a test of two searchers: five never give a p below 0.05."""
ALPHA = 0.05


@dataclass(frozen=True)
class Position:
    """Where a row stands by its mean rank.

    Parameters
    ----------
    number : int
        From 1: one more than the number of rows with a smaller mean rank.
    shared : bool
        Whether another row has an equal mean rank.
    """

    number: int
    shared: bool

    def __str__(self) -> str:
        return f"{self.number}=" if self.shared else f"{self.number} "


@dataclass(frozen=True)
class Duel:
    """Two ranked searchers, task by task, by their own two values alone.

    Parameters
    ----------
    first, second : int
        Rows of the board, the better placed first.
    wins, losses, ties : int
        Tasks in which the first is better at more points than it is worse, at fewer, at as many.
    p : float or None
        Signed rank test over independent tasks, corrected by Holm over all pairs of the board; None where the tasks
        are too few.
    """

    first: int
    second: int
    wins: int
    losses: int
    ties: int
    p: float | None


def positions(means: FloatArray) -> list[Position]:
    """Number searchers by their mean ranks; equal means share a number.

    Parameters
    ----------
    means : ndarray of float64, shape (searchers,)
    """
    equal = equal_means(means)
    return [Position(1 + int((equal < own).sum()), shared=bool((equal == own).sum() > 1)) for own in equal]


def group_letters(ranks: FloatArray, finders: int) -> list[str]:
    """Group searchers that are not significantly different from their group's first.

    Each group's first is compared with all that stand behind it (Wilcoxon's signed rank over tasks, Holm's correction
    over these comparisons); the group ends before the first one that differs significantly. A searcher that found
    nothing at all shares no group with one that found something, whatever the test says.

    Parameters
    ----------
    ranks : ndarray of float64, shape (searchers, units)
        Sorted by their means; a column is an independent task, at least `fewest_units` of them.
    finders : int
        How many of them, the first ones, found anything.

    Returns
    -------
    list of str
        A letter for each searcher; equal letters are one group.
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

    Examples
    --------
    >>> fewest_units(2), fewest_units(3), fewest_units(9)
    (6, 7, 9)
    """
    return next(units for units in count(FEWEST) if (searchers - 1) * 2.0 ** (1 - units) < ALPHA)


def duels(advantages: FloatArray, units: Sequence[int] | IntArray, *, tested: bool) -> list[Duel]:
    """Compare every two searchers.

    Parameters
    ----------
    advantages : ndarray of float64, shape (tasks, searchers, searchers)
        Of the row's searcher over the column's in each task, as `pair_advantages` defines them; in the board's order.
    units : sequence of int, one per task
        Which independent task, from 0, a task belongs to.
    tested : bool
        Whether there are enough independent tasks for p-values.
    """
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
        found.append(Duel(i, j, wins, losses, len(advantage) - wins - losses, p))
    return found
