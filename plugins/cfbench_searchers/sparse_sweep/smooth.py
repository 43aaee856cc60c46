"""The steps *smooth* and *exchange*, and what is done with the rest of a query budget."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import BETTER, Found, Inquiry
from cfbench_searchers.sparse_sweep.sweeps import polish

POINTS = 15
"""Values of the first feature that are tried at once."""

ROUNDS = 4
"""How often they close in on the best of them."""

HALVINGS = 11
"""Steps towards the boundary, in the second feature: a two-thousandth of the way."""

WORTHWHILE = 1e-6
"""Gain that another round over all pairs has to promise."""


def smooth(inquiry: Inquiry, at: Found, rounds: int = 3) -> Found:
    """Polish a candidate, and trade each pair of its numerical features until that gains nothing.

    Where the boundary is smooth, a zoom ends at the first point of it that it meets; the best one lies somewhere
    along it, where a little more of one feature no longer saves more of another.
    """
    terrain = inquiry.terrain
    at = polish(inquiry, at)
    for _ in range(rounds):
        before = at.value
        numbers = [i for i in terrain.changed(at.z) if terrain.is_numerical[i]]
        for a, b in combinations(numbers, 2):
            if at.z[a] == terrain.home[a] or at.z[b] == terrain.home[b]:
                continue  # an earlier trade did without it
            traded = trade(inquiry, at, a, b)
            if traded.value < at.value:
                at = polish(inquiry, traded)
        if at.value > before - WORTHWHILE:
            break
    return at


def trade(inquiry: Inquiry, at: Found, a: int, b: int) -> Found:
    """Look for cheaper values of two numerical features, the others kept.

    For several values of `a` at once, `b` starts where the candidate would cost as much as it does now; if that is of
    the target class, halvings lead it to the boundary. Then the values of `a` close in on the best one.
    """
    terrain = inquiry.terrain
    lower, upper = _reach(inquiry, at, a, b)
    for _ in range(ROUNDS):
        tries = np.unique(terrain.allowed(a, np.concatenate((np.linspace(lower, upper, POINTS), [at.z[a]]))))
        best = _along_boundary(inquiry, at, a, tries, b)
        if best.value < at.value:
            at = best
        spacing = (upper - lower) / (POINTS - 1)
        lower, upper = max(lower, at.z[a] - spacing), min(upper, at.z[a] + spacing)
    return at


def _reach(inquiry: Inquiry, at: Found, a: int, b: int) -> tuple[float, float]:
    """Return the interval of `a` outside which a candidate costs more than `at`, whatever `b` is."""
    terrain = inquiry.terrain
    without = at.z.copy()
    without[[a, b]] = terrain.home[[a, b]]
    slack = at.value - float(inquiry.cost(without[np.newaxis])[0]) - float(terrain.least[a])
    move = max(slack, 0.0) / terrain.slope[a]
    home = float(terrain.home[a])
    return max(float(terrain.lower[a]), home - move), min(float(terrain.upper[a]), home + move)


def _along_boundary(inquiry: Inquiry, at: Found, a: int, tries: FloatArray, b: int) -> Found:
    """Give each value of `a` the value of `b` at which the class is just kept; return the best of all."""
    terrain = inquiry.terrain
    Z = np.tile(at.z, (len(tries), 1))
    Z[:, a] = tries
    near = np.full(len(tries), terrain.home[b])
    Z[:, b] = near
    # As far out as a candidate may be that costs less than `at`.
    move = np.maximum(at.value - inquiry.cost(Z) - terrain.least[b], 0.0) / terrain.slope[b]
    side = 1.0 if at.z[b] > terrain.home[b] else -1.0
    far = np.clip(terrain.home[b] + side * move * (1 - 1e-9), terrain.lower[b], terrain.upper[b])
    best = at
    rows = np.flatnonzero(far != near)
    for halving in range(HALVINGS):
        middle = far[rows] if halving == 0 else terrain.allowed(b, (near[rows] + far[rows]) / 2)
        Z[rows, b] = middle
        values = inquiry.ask(Z[rows])
        kept = np.isfinite(values)
        if kept.any():
            k = int(np.argmin(values))
            if values[k] < best.value:
                best = Found(float(values[k]), Z[rows[k]].copy())
        far[rows[kept]] = middle[kept]
        if halving == 0:
            rows = rows[kept]
        else:
            near[rows[~kept]] = middle[~kept]
        if len(rows) == 0:
            break
    return best


SLACK = 0.5
"""Tolerance above the best cost, as a fraction of the cost of crossing a feature's full range."""

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


AT_ONCE = 500
"""Candidates of one question."""

IN_VAIN = 20
"""Draws in which no row could be better than the best, after which there is nothing left to look for."""


def explore(inquiry: Inquiry, rng: np.random.Generator) -> Iterator[str]:
    """Look for better candidates at random until the budget ends; yield after each round.

    Features are drawn, one to a few more than the best has, each to any feasible value; what costs as much as the best
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
