"""The step *smooth*: two features traded against each other along the boundary of the target class."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import FloatArray
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry
from cfbench_searchers.sparse_sweep.zoom import polish

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
