"""What is left of a query budget: random candidates that could still be better, polished where they are found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry
from cfbench_searchers.sparse_sweep.smooth import smooth

AT_ONCE = 500
"""Candidates of one question."""

IN_VAIN = 20
"""Draws in which no row could be better than the best, after which there is nothing left to look for."""


def explore(inquiry: Inquiry, rng: np.random.Generator) -> Iterator[str]:
    """Look for better candidates at random until the budget ends; yield after each round.

    Features are drawn, one to a few more than the best has, each to any plausible value; what costs as much as the best
    is not asked. The search ends by itself only where no draw is cheaper any more.
    """
    in_vain = 0
    while in_vain < IN_VAIN:
        Z = _draws(inquiry, rng)
        Z = Z[(inquiry.cost(Z) < inquiry.limit) & (Z != inquiry.terrain.home).any(axis=1)]
        if len(Z) == 0:
            in_vain += 1
            continue
        in_vain = 0
        values = inquiry.ask(Z)
        k = int(np.argmin(values))
        if np.isfinite(values[k]):
            smooth(inquiry, Found(float(values[k]), Z[k]))
        yield "explore"


def _draws(inquiry: Inquiry, rng: np.random.Generator) -> FloatArray:
    terrain = inquiry.terrain
    Z = np.tile(terrain.home, (AT_ONCE, 1))
    if len(terrain.free) == 0:
        return Z
    most = len(terrain.free)
    if inquiry.best is not None:
        most = min(most, len(terrain.changed(inquiry.best.z)) + 2)
    sizes = rng.integers(1, most + 1, AT_ONCE)
    places = rng.random((AT_ONCE, len(terrain.free))).argsort(axis=1).argsort(axis=1)
    drawn = np.zeros(Z.shape, dtype=bool)
    drawn[:, terrain.free] = places < sizes[:, np.newaxis]
    # Nearer values are likelier: squared shares of the way from home to a point drawn anywhere.
    ways = np.where(terrain.is_numerical, rng.random(Z.shape) ** 2, 1.0)
    Y = terrain.inside(terrain.home + ways * (terrain.sample(AT_ONCE, rng) - terrain.home))
    return np.where(drawn, Y, Z)
