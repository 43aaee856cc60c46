"""Moves from one candidate to others around it, for values that rest on draws."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import Inquiry

SHARES = (-1.0, -0.3, 0.3, 1.0)
"""Of a step, in either direction."""

N_LEVELS = 7
"""Values tried anywhere."""

RETREATS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7)
"""Shares of the way back to `x`."""


def moves(inquiry: Inquiry, z: FloatArray, step: float, *, everything: bool) -> FloatArray:
    """Return rows around `z`, shape (n, d).

    Each changed numerical feature moves by up to a step, and each pair of them a step apart, one outwards, the other
    back.

    Parameters
    ----------
    inquiry : Inquiry
    z : ndarray of float64, shape (d,)
    step : float
        As a share of a feature's range.
    everything : bool
        Whether each changed feature is put back, too, and every feature tried at several values anywhere. A kept
        feature may be perturbed, a changed one may not: to change it can be worth its cost.
    """
    terrain = inquiry.terrain
    changed = terrain.changed(z)
    numbers = [i for i in changed if terrain.is_numerical[i]]
    steps = step * terrain.ranges
    away = np.sign(z - terrain.home)
    rows = [_with(z, i, z[i] + share * steps[i]) for i in numbers for share in SHARES]
    for a, b in permutations(numbers, 2):
        back = min(steps[b], abs(z[b] - terrain.home[b]))
        rows.append(_with(_with(z, a, z[a] + away[a] * steps[a]), b, z[b] - away[b] * back))
    if everything:
        rows += [_with(z, i, float(terrain.home[i])) for i in changed]
        rows += _anywhere(inquiry, z, [int(i) for i in terrain.free])
    return _others(inquiry, z, rows)


def retreats(inquiry: Inquiry, z: FloatArray) -> FloatArray:
    """Return `z` with one numerical feature moved back towards `x`, by several shares of its way; shape (n, d)."""
    terrain = inquiry.terrain
    numbers = [i for i in terrain.changed(z) if terrain.is_numerical[i]]
    rows = [_with(z, i, z[i] + share * (terrain.home[i] - z[i])) for i in numbers for share in RETREATS]
    return _others(inquiry, z, rows)


def _anywhere(inquiry: Inquiry, z: FloatArray, features: list[int]) -> Iterator[FloatArray]:
    terrain = inquiry.terrain
    for i in features:
        for value in terrain.levels[i][terrain.some_levels(i, N_LEVELS)]:
            yield _with(z, i, float(value))


def _with(z: FloatArray, i: int, value: float) -> FloatArray:
    row = z.copy()
    row[i] = value
    return row


def _others(inquiry: Inquiry, z: FloatArray, rows: list[FloatArray]) -> FloatArray:
    """Return the plausible rows nearest to these, without `z` itself."""
    if not rows:
        return np.empty((0, len(z)))
    Z = inquiry.terrain.inside(np.array(rows))
    others: FloatArray = Z[(Z != z).any(axis=1)]
    return others
