"""The step *exchange*: one or two changed features given up for another one."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import BETTER, Found, Inquiry
from cfbench_searchers.sparse_sweep.smooth import smooth

SLACK = 0.5
"""How much dearer than the best a candidate may be, as a share of what crossing a feature's whole range costs."""

FOLLOWED = 2
"""Sets that are followed up for each exchange, the best first."""


def exchange(inquiry: Inquiry, at: Found, features: list[int], n_levels: int) -> None:
    """Give up each pair of a few changed features of `at`, and each single one, and sweep every other one instead.

    Also without giving anything up: where the moves are long, a further feature may shorten them.

    Parameters
    ----------
    inquiry : Inquiry
    at : Found
    features : list of int
        Which may come in.
    n_levels : int
        Values of the feature that comes in.
    """
    terrain = inquiry.terrain
    changed = terrain.changed(at.z)
    given_up: list[tuple[int, ...]] = [*combinations(changed, 2)] if 2 < len(changed) <= 6 else []
    slack = SLACK * float(np.median(terrain.slope[features] * terrain.ranges[features]))
    for gone in (*given_up, *((i,) for i in changed), ()):
        kept = at.z.copy()
        kept[list(gone)] = terrain.home[list(gone)]
        # A feature that stays is swept, too: what it has to do may be another thing now.
        incoming = [i for i in features if i not in gone]
        incoming = [i for i in incoming if terrain.bound({*terrain.changed(kept), i}) < inquiry.limit - BETTER]
        if not incoming:
            continue
        Z = np.concatenate([_swept(inquiry, kept, i, n_levels) for i in incoming])
        cost = inquiry.cost(Z)
        near_to_far = np.argsort(cost, kind="stable")
        Z = Z[near_to_far[cost[near_to_far] < inquiry.limit + slack]]
        _follow(inquiry, Z, inquiry.ask(Z))


def _swept(inquiry: Inquiry, z: FloatArray, i: int, n_levels: int) -> FloatArray:
    terrain = inquiry.terrain
    values = terrain.levels[i][terrain.some_levels(i, n_levels)]
    Z = np.tile(z, (len(values), 1))
    Z[:, i] = values
    return Z


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
