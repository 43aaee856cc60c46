"""The steps *smooth* and *exchange*, and what is done with the rest of a query budget."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from cfbench.space import FloatArray
from cfbench_searchers.sparse_sweep.candidates import BETTER, QueriedCandidates, ScoredRow
from cfbench_searchers.sparse_sweep.sweeps import polish

POINTS = 15
"""Values of the first feature that are tried at once."""

ROUNDS = 4
"""How often they close in on the best of them."""

HALVINGS = 11
"""Steps towards the boundary, in the second feature: a two-thousandth of the way."""

WORTHWHILE = 1e-6
"""Gain that another round over all pairs has to promise."""


def smooth(queried: QueriedCandidates, at: ScoredRow, rounds: int = 3) -> ScoredRow:
    """Polish a candidate, and trade each pair of its numerical features until that gains nothing.

    Where the boundary is smooth, a zoom ends at the first point of it that it meets; the best one lies somewhere
    along it, where a little more of one feature no longer saves more of another.
    """
    grid = queried.grid
    at = polish(queried, at)
    for _ in range(rounds):
        before = at.value
        numbers = [i for i in grid.changed(at.z) if grid.is_numerical[i]]
        for a, b in combinations(numbers, 2):
            if at.z[a] == grid.home[a] or at.z[b] == grid.home[b]:
                continue  # an earlier trade did without it
            traded = trade(queried, at, a, b)
            if traded.value < at.value:
                at = polish(queried, traded)
        if at.value > before - WORTHWHILE:
            break
    return at


def trade(queried: QueriedCandidates, at: ScoredRow, a: int, b: int) -> ScoredRow:
    """Look for cheaper values of two numerical features, the others kept.

    For several values of `a` at once, `b` starts where the candidate would cost as much as it does now; if that is of
    the target class, halvings lead it to the boundary. Then the values of `a` close in on the best one.
    """
    grid = queried.grid
    lower, upper = _reach(queried, at, a, b)
    for _ in range(ROUNDS):
        tries = np.unique(grid.allowed(a, np.concatenate((np.linspace(lower, upper, POINTS), [at.z[a]]))))
        best = _along_boundary(queried, at, a, tries, b)
        if best.value < at.value:
            at = best
        spacing = (upper - lower) / (POINTS - 1)
        lower, upper = max(lower, at.z[a] - spacing), min(upper, at.z[a] + spacing)
    return at


def _reach(queried: QueriedCandidates, at: ScoredRow, a: int, b: int) -> tuple[float, float]:
    """Return the interval of `a` outside which a candidate costs more than `at`, whatever `b` is."""
    grid = queried.grid
    without = at.z.copy()
    without[[a, b]] = grid.home[[a, b]]
    slack = at.value - float(queried.cost(without[np.newaxis])[0]) - float(grid.least[a])
    move = max(slack, 0.0) / grid.slope[a]
    home = float(grid.home[a])
    return max(float(grid.lower[a]), home - move), min(float(grid.upper[a]), home + move)


def _along_boundary(queried: QueriedCandidates, at: ScoredRow, a: int, tries: FloatArray, b: int) -> ScoredRow:
    """Give each value of `a` the value of `b` at which the class is just kept; return the best of all."""
    grid = queried.grid
    Z = np.tile(at.z, (len(tries), 1))
    Z[:, a] = tries
    near = np.full(len(tries), grid.home[b])
    Z[:, b] = near
    # As far out as a candidate may be that costs less than `at`.
    move = np.maximum(at.value - queried.cost(Z) - grid.least[b], 0.0) / grid.slope[b]
    side = 1.0 if at.z[b] > grid.home[b] else -1.0
    far = np.clip(grid.home[b] + side * move * (1 - 1e-9), grid.lower[b], grid.upper[b])
    best = at
    rows = np.flatnonzero(far != near)
    for halving in range(HALVINGS):
        middle = far[rows] if halving == 0 else grid.allowed(b, (near[rows] + far[rows]) / 2)
        Z[rows, b] = middle
        values = queried.ask(Z[rows])
        kept = np.isfinite(values)
        if kept.any():
            k = int(np.argmin(values))
            if values[k] < best.value:
                best = ScoredRow(float(values[k]), Z[rows[k]].copy())
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


def exchange(queried: QueriedCandidates, at: ScoredRow, features: list[int], n_levels: int) -> None:
    """Give up each pair of a few changed features of `at`, and each single one, and sweep every other one instead.

    Also without giving anything up: where the moves are long, a further feature may shorten them.

    Parameters
    ----------
    queried : QueriedCandidates
    at : ScoredRow
    features : list of int
        Which may come in.
    n_levels : int
        Values of the feature that comes in.
    """
    grid = queried.grid
    changed = grid.changed(at.z)
    given_up: list[tuple[int, ...]] = [*combinations(changed, 2)] if 2 < len(changed) <= 6 else []
    slack = SLACK * float(np.median(grid.slope[features] * grid.ranges[features]))
    for gone in (*given_up, *((i,) for i in changed), ()):
        kept = at.z.copy()
        kept[list(gone)] = grid.home[list(gone)]
        # A feature that stays is swept, too: what it has to do may be another thing now.
        incoming = [i for i in features if i not in gone]
        incoming = [i for i in incoming if grid.bound({*grid.changed(kept), i}) < queried.limit - BETTER]
        if not incoming:
            continue
        Z = np.concatenate([_swept(queried, kept, i, n_levels) for i in incoming])
        cost = queried.cost(Z)
        near_to_far = np.argsort(cost, kind="stable")
        Z = Z[near_to_far[cost[near_to_far] < queried.limit + slack]]
        _follow(queried, Z, queried.ask(Z))


def _swept(queried: QueriedCandidates, z: FloatArray, i: int, n_levels: int) -> FloatArray:
    grid = queried.grid
    values = grid.levels[i][grid.some_levels(i, n_levels)]
    Z = np.tile(z, (len(values), 1))
    Z[:, i] = values
    return Z


def _follow(queried: QueriedCandidates, Z: FloatArray, values: FloatArray) -> None:
    grid = queried.grid
    hits = np.flatnonzero(np.isfinite(values))
    seen: set[tuple[int, ...]] = set()
    for k in hits[np.argsort(values[hits], kind="stable")]:
        key = tuple(grid.changed(Z[k]))
        if key in seen or grid.bound(key) >= queried.limit:
            continue
        seen.add(key)
        smooth(queried, ScoredRow(float(values[k]), Z[k]))
        if len(seen) >= FOLLOWED:
            return


AT_ONCE = 500
"""Candidates of one question."""

IN_VAIN = 20
"""Draws in which no row could be better than the best, after which there is nothing left to look for."""


def explore(queried: QueriedCandidates, rng: np.random.Generator) -> Iterator[str]:
    """Look for better candidates at random until the budget ends; yield after each round.

    Features are drawn, one to a few more than the best has, each to any feasible value; what costs as much as the best
    is not asked. The search ends by itself only where no draw is cheaper any more.
    """
    in_vain = 0
    while in_vain < IN_VAIN:
        Z = _draws(queried, rng)
        Z = Z[(queried.cost(Z) < queried.limit) & (Z != queried.grid.home).any(axis=1)]
        if len(Z) == 0:
            in_vain += 1
            continue
        in_vain = 0
        values = queried.ask(Z)
        k = int(np.argmin(values))
        if np.isfinite(values[k]):
            smooth(queried, ScoredRow(float(values[k]), Z[k]))
        yield "explore"


def _draws(queried: QueriedCandidates, rng: np.random.Generator) -> FloatArray:
    grid = queried.grid
    Z = np.tile(grid.home, (AT_ONCE, 1))
    if len(grid.free) == 0:
        return Z
    most = len(grid.free)
    if queried.best is not None:
        most = min(most, len(grid.changed(queried.best.z)) + 2)
    sizes = rng.integers(1, most + 1, AT_ONCE)
    places = rng.random((AT_ONCE, len(grid.free))).argsort(axis=1).argsort(axis=1)
    drawn = np.zeros(Z.shape, dtype=bool)
    drawn[:, grid.free] = places < sizes[:, np.newaxis]
    # Nearer values are likelier: squared shares of the way from home to a point drawn anywhere.
    ways = np.where(grid.is_numerical, rng.random(Z.shape) ** 2, 1.0)
    Y = grid.inside(grid.home + ways * (grid.sample(AT_ONCE, rng) - grid.home))
    return np.where(drawn, Y, Z)
