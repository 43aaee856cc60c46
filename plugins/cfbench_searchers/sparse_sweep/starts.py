"""The step *revert*: from rows of the target class, put back as many features as the class allows."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray, TrainingFold
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry
from cfbench_searchers.sparse_sweep.sweeps import polish, reverts

AT_ONCE = 100
"""Training rows of one question."""

DRAWS = 500
"""Random rows of one question."""


def training_starts(inquiry: Inquiry, training: TrainingFold, target: int, wanted: int, most: int) -> list[Found]:
    """Return the training rows of the target class that are nearest to `x`, made feasible.

    Rows with the label `target` are asked before the others, since most of them have that class.

    Parameters
    ----------
    inquiry : Inquiry
    training : TrainingFold
    target : int
    wanted : int
        Rows to return.
    most : int
        Rows to ask.
    """
    terrain = inquiry.terrain
    found: list[Found] = []
    for label in (True, False):
        Z = np.unique(terrain.inside(training.X[(training.y == target) == label]), axis=0)
        Z = Z[np.argsort(inquiry.cost(Z), kind="stable")[:most]]
        for first in range(0, len(Z), AT_ONCE):
            if len(found) >= wanted:
                break
            found += _hits(inquiry, Z[first : first + AT_ONCE])
    return found[:wanted]


def random_starts(inquiry: Inquiry, rng: np.random.Generator, wanted: int) -> list[Found]:
    """Return random rows of the target class, the best first.

    A share of the features is changed, first a few, then most of them: to values anywhere in their intervals, in the
    end to the ends of these. Some linear models have no other class but in a corner of the box.
    """
    terrain = inquiry.terrain
    is_free = np.zeros(terrain.d, dtype=bool)
    is_free[terrain.free] = True
    found: list[Found] = []
    for share, corners in ((0.3, False), (0.6, False), (0.9, False), (0.5, True), (1.0, True)):
        Z = terrain.sample(DRAWS, rng)
        if corners:
            ends = np.where(rng.random(Z.shape) < 0.5, terrain.lower, terrain.upper)
            Z = np.where(terrain.is_numerical, ends, Z)
        Z = np.where((rng.random(Z.shape) < share) & is_free, Z, terrain.home)
        found += _hits(inquiry, Z)
        if len(found) >= wanted:
            break
    return sorted(found, key=lambda each: each.value)[:wanted]


def _hits(inquiry: Inquiry, Z: FloatArray) -> list[Found]:
    values = inquiry.ask(Z)
    return [Found(float(values[k]), Z[k]) for k in np.flatnonzero(np.isfinite(values))]


WIDE = 60
"""Features past which they are put back in blocks."""


def revert(inquiry: Inquiry, starts: list[Found], rng: np.random.Generator) -> None:
    """Make every start sparse, and polish the best of each set of features that may become the best.

    Parameters
    ----------
    inquiry : Inquiry
    starts : list of Found
    rng : Generator
    """
    terrain = inquiry.terrain
    if len(terrain.free) > WIDE:
        sparse = [in_blocks(inquiry, start, rng) for start in starts]
    else:
        sparse = one_by_one(inquiry, starts)
    polished: set[tuple[int, ...]] = set()
    for found in sorted(sparse, key=lambda each: each.value):
        key = tuple(terrain.changed(found.z))
        if key not in polished and terrain.bound(key) < inquiry.limit:
            polished.add(key)
            polish(inquiry, found)


def one_by_one(inquiry: Inquiry, starts: list[Found]) -> list[Found]:
    """Put back, in all starts at once, whichever single feature lowers the value most, until none does."""
    terrain = inquiry.terrain
    at = list(starts)
    active = list(range(len(at)))
    while active:
        # With the last feature put back it would be x again.
        active = [r for r in active if len(terrain.changed(at[r].z)) > 1]
        if not active:
            break
        blocks = [reverts(inquiry, at[r].z, terrain.changed(at[r].z)) for r in active]
        values = inquiry.ask(np.concatenate(blocks))
        first, still = 0, []
        for r, block in zip(active, blocks, strict=True):
            own = values[first : first + len(block)]
            first += len(block)
            k = int(np.argmin(own))
            if own[k] < at[r].value:
                at[r] = Found(float(own[k]), block[k])
                still.append(r)
        active = still
    return at


def in_blocks(inquiry: Inquiry, at: Found, rng: np.random.Generator) -> Found:
    """Put features back in random blocks, half of them at first, and smaller ones where no block can go."""
    terrain = inquiry.terrain
    size = max(1, len(terrain.changed(at.z)) // 2)
    while len(changed := terrain.changed(at.z)) > 1:
        shuffled = rng.permutation(changed)
        blocks = [shuffled[first : first + size] for first in range(0, len(shuffled), size)]
        Z = np.tile(at.z, (len(blocks), 1))
        for row, block in zip(Z, blocks, strict=True):
            row[block] = terrain.home[block]
        values = inquiry.ask(Z)
        k = int(np.argmin(values))
        if values[k] < at.value:
            at = Found(float(values[k]), Z[k])
        elif size == 1:
            break
        else:
            size = max(1, size // 2)
    return at
