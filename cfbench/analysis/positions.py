"""Positions on a board: who stands where, and who is not told apart from whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cfbench.analysis.signed_rank import signed_rank_p
from cfbench.analysis.significance import holm
from cfbench.space import FloatArray

FEWEST = 6
"""Fewest independent tasks for a comparison: with five, no result of the signed rank test is below 0.05."""
ALPHA = 0.05


@dataclass(frozen=True)
class Position:
    """Where a row stands.

    Parameters
    ----------
    number : int
        The position of its group's first row, from 1.
    shared : bool
        Whether the group has several rows, which are not told apart from its first one.
    """

    number: int
    shared: bool

    def __str__(self) -> str:
        return f"{self.number}=" if self.shared else f"{self.number} "


@dataclass(frozen=True)
class Duel:
    """Two ranked searchers, task by task.

    Parameters
    ----------
    first, second : int
        Rows of the board, the better placed first.
    wins, losses, ties : int
        Tasks in which the first has the smaller, the larger, an equal mean rank.
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


def positions(ranks: FloatArray, finders: int) -> list[Position]:
    """Place searchers in groups of those that are not told apart from their group's first.

    Each group's first is held against all who stand behind it (Wilcoxon's signed rank over tasks, Holm's correction
    over these comparisons); the group ends before the first one that is told apart. Who found nothing at all is in no
    group with those who found something: no test makes it lead.

    Parameters
    ----------
    ranks : ndarray of float64, shape (searchers, units)
        Sorted by their means; a column is an independent task, at least `FEWEST` of them.
    finders : int
        How many of them, the first ones, found anything.
    """
    placed: list[Position] = []
    while len(placed) < len(ranks):
        first = len(placed)
        behind = ranks[first + 1 :] - ranks[first]
        corrected = holm(np.array([signed_rank_p(difference) for difference in behind]))
        apart = np.flatnonzero(corrected < ALPHA)
        size = 1 + (int(apart[0]) if len(apart) else len(behind))
        if first < finders:
            size = min(size, finders - first)
        placed += [Position(first + 1, shared=size > 1)] * size
    return placed


def least_p(searchers: int, units: int) -> float:
    """Return the smallest corrected p that `positions` can find for the first of a board.

    With all signs alike the test of `units` differences has p = 2 / 2**units; Holm's correction multiplies it by the
    number of those who stand behind.

    Examples
    --------
    >>> least_p(9, 6)
    0.25
    """
    return min(1.0, (searchers - 1) * 2.0 ** (1 - units))


def plain_positions(means: Sequence[float]) -> list[Position]:
    """Number searchers by sorted mean ranks, without any comparison; equal means share a number."""
    return [Position(1 + sum(other < mean - 1e-9 for other in means), shared=False) for mean in means]


def duels(ranks: FloatArray, units: FloatArray) -> list[Duel]:
    """Hold every two searchers against each other.

    Parameters
    ----------
    ranks : ndarray of float64, shape (searchers, tasks)
        In the board's order.
    units : ndarray of float64, shape (searchers, units)
        The same, averaged over tasks that are not independent.
    """
    pairs = list(combinations(range(len(ranks)), 2))
    enough = units.shape[1] >= FEWEST
    raw = np.array([signed_rank_p(units[j] - units[i]) for i, j in pairs]) if enough else np.zeros(0)
    corrected = holm(raw) if len(raw) else raw
    found = []
    for number, (i, j) in enumerate(pairs):
        difference = np.round(ranks[j] - ranks[i], 9)
        counts = (int((difference > 0).sum()), int((difference < 0).sum()), int((difference == 0).sum()))
        found.append(Duel(i, j, *counts, float(corrected[number]) if enough else None))
    return found
