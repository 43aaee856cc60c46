"""The step *revert*: from rows of the target class, put back as many features as the class allows."""

from __future__ import annotations

import numpy as np

from cfbench import TrainingFold
from cfbench.space import FloatArray
from cfbench_searchers.sparse_sweep.candidates import QueriedCandidates, ScoredRow
from cfbench_searchers.sparse_sweep.sweeps import polish, reverts

AT_ONCE = 100
"""Training rows of one question."""

DRAWS = 500
"""Random rows of one question."""


def training_starts(
    queried: QueriedCandidates, training: TrainingFold, target: int, wanted: int, most: int
) -> list[ScoredRow]:
    """Return the training rows of the target class that are nearest to `x`, made feasible.

    Rows with the label `target` are asked before the others, since most of them have that class.

    Parameters
    ----------
    queried : QueriedCandidates
    training : TrainingFold
    target : int
    wanted : int
        Rows to return.
    most : int
        Rows to ask.
    """
    grid = queried.grid
    found: list[ScoredRow] = []
    for label in (True, False):
        Z = np.unique(grid.inside(training.X[(training.y == target) == label]), axis=0)
        Z = Z[np.argsort(queried.cost(Z), kind="stable")[:most]]
        for first in range(0, len(Z), AT_ONCE):
            if len(found) >= wanted:
                break
            found += _hits(queried, Z[first : first + AT_ONCE])
    return found[:wanted]


def random_starts(queried: QueriedCandidates, rng: np.random.Generator, wanted: int) -> list[ScoredRow]:
    """Return random rows of the target class, the best first.

    A share of the features is changed, first a few, then most of them: to values anywhere in their intervals, in the
    end to the ends of these. Some linear models have no other class but in a corner of the box.
    """
    grid = queried.grid
    is_free = np.zeros(grid.d, dtype=bool)
    is_free[grid.free] = True
    found: list[ScoredRow] = []
    for share, corners in ((0.3, False), (0.6, False), (0.9, False), (0.5, True), (1.0, True)):
        Z = grid.sample(DRAWS, rng)
        if corners:
            ends = np.where(rng.random(Z.shape) < 0.5, grid.lower, grid.upper)
            Z = np.where(grid.is_numerical, ends, Z)
        Z = np.where((rng.random(Z.shape) < share) & is_free, Z, grid.home)
        found += _hits(queried, Z)
        if len(found) >= wanted:
            break
    return sorted(found, key=lambda each: each.value)[:wanted]


def _hits(queried: QueriedCandidates, Z: FloatArray) -> list[ScoredRow]:
    values = queried.ask(Z)
    return [ScoredRow(float(values[k]), Z[k]) for k in np.flatnonzero(np.isfinite(values))]


WIDE = 60
"""Features past which they are put back in blocks."""


def revert(queried: QueriedCandidates, starts: list[ScoredRow], rng: np.random.Generator) -> None:
    """Make every start sparse, and polish the best of each set of features that may become the best.

    Parameters
    ----------
    queried : QueriedCandidates
    starts : list of ScoredRow
    rng : Generator
    """
    grid = queried.grid
    if len(grid.free) > WIDE:
        sparse = [in_blocks(queried, start, rng) for start in starts]
    else:
        sparse = one_by_one(queried, starts)
    polished: set[tuple[int, ...]] = set()
    for found in sorted(sparse, key=lambda each: each.value):
        key = tuple(grid.changed(found.z))
        if key not in polished and grid.bound(key) < queried.limit:
            polished.add(key)
            polish(queried, found)


def one_by_one(queried: QueriedCandidates, starts: list[ScoredRow]) -> list[ScoredRow]:
    """Put back, in all starts at once, whichever single feature lowers the value most, until none does."""
    grid = queried.grid
    at = list(starts)
    active = list(range(len(at)))
    while active:
        # With the last feature put back it would be x again.
        active = [r for r in active if len(grid.changed(at[r].z)) > 1]
        if not active:
            break
        blocks = [reverts(queried, at[r].z, grid.changed(at[r].z)) for r in active]
        values = queried.ask(np.concatenate(blocks))
        first, still = 0, []
        for r, block in zip(active, blocks, strict=True):
            own = values[first : first + len(block)]
            first += len(block)
            k = int(np.argmin(own))
            if own[k] < at[r].value:
                at[r] = ScoredRow(float(own[k]), block[k])
                still.append(r)
        active = still
    return at


def in_blocks(queried: QueriedCandidates, at: ScoredRow, rng: np.random.Generator) -> ScoredRow:
    """Put features back in random blocks, half of them at first, and smaller ones where no block can go."""
    grid = queried.grid
    size = max(1, len(grid.changed(at.z)) // 2)
    while len(changed := grid.changed(at.z)) > 1:
        shuffled = rng.permutation(changed)
        blocks = [shuffled[first : first + size] for first in range(0, len(shuffled), size)]
        Z = np.tile(at.z, (len(blocks), 1))
        for row, block in zip(Z, blocks, strict=True):
            row[block] = grid.home[block]
        values = queried.ask(Z)
        k = int(np.argmin(values))
        if values[k] < at.value:
            at = ScoredRow(float(values[k]), Z[k])
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return at
