"""Following a candidate back towards `x`: features put back, and values moved as near as the class allows."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry

POINTS = 7
"""Values tried at once on a segment: each question shrinks it eightfold."""

WORTHWHILE = 1e-7
"""Gain that another pass over all features has to promise."""


def zoom(inquiry: Inquiry, at: Found, i: int, near: float | None = None) -> Found:
    """Move a numerical feature of a candidate towards `x` as far as that lowers the value.

    Parameters
    ----------
    inquiry : Inquiry
    at : Found
    i : int
    near : float, optional
        A value nearer to `x` that is known to lose the class; that of `x` if not given.

    Notes
    -----
    The segment between a value that loses the class and one that keeps it is cut by a few points at once. Of those that
    keep the class the best is taken, for the loss alone the nearest, and the segment before it comes next.
    """
    terrain = inquiry.terrain
    lost = float(terrain.home[i]) if near is None else near
    while len(points := terrain.between(i, lost, float(at.z[i]), POINTS)):
        Z = np.tile(at.z, (len(points), 1))
        Z[:, i] = points
        values = inquiry.ask(Z)
        k = int(np.argmin(values))
        if values[k] < at.value:
            at = Found(float(values[k]), Z[k])
            lost = float(points[k - 1]) if k else lost
        else:
            lost = float(points[-1])
    return at


def polish(inquiry: Inquiry, at: Found) -> Found:
    """Put features back one by one as long as the class stays, then zoom each that is left, the farthest first."""
    terrain = inquiry.terrain
    for _ in range(4):
        before = at.value
        while (put_back := _best_revert(inquiry, at)) is not None:
            at = put_back
        numbers = [i for i in terrain.changed(at.z) if terrain.is_numerical[i]]
        for i in sorted(numbers, key=lambda i: -terrain.slope[i] * abs(at.z[i] - terrain.home[i])):
            at = zoom(inquiry, at, i)
        if at.value > before - WORTHWHILE:
            break
    return at


def _best_revert(inquiry: Inquiry, at: Found) -> Found | None:
    changed = inquiry.terrain.changed(at.z)
    if len(changed) < 2:  # with the last one it would be x again
        return None
    Z = reverts(inquiry, at.z, changed)
    values = inquiry.ask(Z)
    k = int(np.argmin(values))
    return Found(float(values[k]), Z[k]) if values[k] < at.value else None


def reverts(inquiry: Inquiry, z: FloatArray, features: list[int]) -> FloatArray:
    """Return a row for each of the features, in which it is put back to what it is in `x`."""
    Z = np.tile(z, (len(features), 1))
    Z[np.arange(len(features)), features] = inquiry.terrain.home[features]
    return Z
