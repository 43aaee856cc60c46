"""The step *sweep*: every feature alone, over all its values, from near to far."""

from __future__ import annotations

import numpy as np

from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry
from cfbench_searchers.sparse_sweep.zoom import zoom

AT_ONCE = 512
"""Candidates of one question."""


def sweep(inquiry: Inquiry) -> None:
    """Find the best candidate with one changed feature, as far as the levels are fine enough to show it.

    The levels of all features are asked in the order of their cost, so that the first hits are the cheapest and what
    costs more than the best is never asked. Every hit of a numerical feature is followed back towards `x`.
    """
    terrain = inquiry.terrain
    if terrain.base > 0:  # `x` lies off a step: what is nearest to it may be an answer
        inquiry.ask(terrain.home[np.newaxis])
    if len(terrain.free) == 0:
        return
    features = np.concatenate([np.full(len(terrain.levels[i]), i) for i in terrain.free])
    values = np.concatenate([terrain.levels[i] for i in terrain.free])
    costs = terrain.base + np.concatenate([terrain.costs[i] for i in terrain.free])
    near_to_far = np.argsort(costs, kind="stable")
    followed: set[tuple[int, bool]] = set()
    for first in range(0, len(near_to_far), AT_ONCE):
        chunk = near_to_far[first : first + AT_ONCE]
        chunk = chunk[costs[chunk] < inquiry.limit]
        if len(chunk) == 0:
            return
        Z = terrain.rows(features[chunk], values[chunk])
        answers = inquiry.ask(Z)
        for k in np.flatnonzero(np.isfinite(answers)):
            i, value = int(features[chunk[k]]), float(values[chunk[k]])
            side = (i, value > terrain.home[i])
            if side in followed or not terrain.is_numerical[i]:
                continue
            followed.add(side)
            near = _next_nearer(terrain.levels[i], float(terrain.home[i]), value)
            if terrain.base + terrain.least[i] + terrain.slope[i] * abs(near - terrain.home[i]) < inquiry.limit:
                zoom(inquiry, Found(float(answers[k]), Z[k]), i, near)


def _next_nearer(levels: np.ndarray[tuple[int], np.dtype[np.float64]], home: float, value: float) -> float:
    """Return the level next to `value` on the way home; `home` where there is none."""
    between = levels[(levels - home) * (value - levels) > 0]
    if len(between) == 0:
        return home
    return float(between.max() if value > home else between.min())
