"""The step *exchange*: one or two changed features given up for another one."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import BETTER, Found, Inquiry
from cfbench_searchers.sparse_sweep.smooth import smooth

N_LEVELS = 24
"""Values of the feature that comes in."""

SLACK = 0.5
"""How much dearer than the best a candidate may be, as a share of the cost of a feature's whole range."""

FOLLOWED = 6
"""Sets that are followed up, the best first."""


def exchange(inquiry: Inquiry, at: Found, features: list[int]) -> None:
    """Give up each changed feature of `at`, and each pair of a few, and sweep every other one instead.

    Also without giving anything up: where the moves are long, a further feature may shorten them.

    Parameters
    ----------
    inquiry : Inquiry
    at : Found
    features : list of int
        Which may come in.
    """
    terrain = inquiry.terrain
    changed = terrain.changed(at.z)
    given_up: list[tuple[int, ...]] = [(), *((i,) for i in changed)]
    if 2 < len(changed) <= 6:
        given_up += combinations(changed, 2)
    blocks = []
    for gone in given_up:
        rest = at.z.copy()
        rest[list(gone)] = terrain.home[list(gone)]
        # A feature that stays is swept, too: what it has to do may be another thing now.
        blocks += [_swept(inquiry, rest, i) for i in features if i not in gone]
    Z = np.unique(np.concatenate(blocks), axis=0)
    cost = inquiry.cost(Z)
    slack = SLACK * float(np.median(terrain.slope[features] * (terrain.upper - terrain.lower)[features]))
    near_to_far = np.argsort(cost, kind="stable")
    near_to_far = near_to_far[cost[near_to_far] < inquiry.limit + slack]
    Z = Z[near_to_far]
    _follow(inquiry, Z, inquiry.ask(Z))


def _swept(inquiry: Inquiry, z: FloatArray, i: int) -> FloatArray:
    terrain = inquiry.terrain
    values = terrain.levels[i][terrain.some_levels(i, N_LEVELS)]
    Z = np.tile(z, (len(values), 1))
    Z[:, i] = values
    # Sets that cannot become the best, however little each feature moves, are left out.
    least = terrain.base + np.where(Z != terrain.home, terrain.least, 0.0).sum(axis=1)
    promising: FloatArray = Z[least < inquiry.limit - BETTER]
    return promising


def _follow(inquiry: Inquiry, Z: FloatArray, values: FloatArray) -> None:
    terrain = inquiry.terrain
    hits = np.flatnonzero(np.isfinite(values))
    seen: set[tuple[int, ...]] = set()
    for k in hits[np.argsort(values[hits], kind="stable")]:
        key = tuple(terrain.changed(Z[k]))
        if key in seen or terrain.bound(key) >= inquiry.limit:
            continue
        seen.add(key)
        smooth(inquiry, Found(float(values[k]), Z[k]))
        if len(seen) >= FOLLOWED:
            return
