"""The steps *sweep* and *pairs and triples*: few features moved together, and followed back towards `x`."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import Problem
from cfbench.space import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.candidates import QueriedCandidates, ScoredRow

POINTS = 7
"""Values tried at once on a segment: each question shrinks it eightfold."""

WORTHWHILE = 1e-7
"""Gain that another pass over all features has to promise."""


def zoom(queried: QueriedCandidates, at: ScoredRow, i: int, near: float | None = None) -> ScoredRow:
    """Move a numerical feature of a candidate towards `x` as far as that lowers the value.

    Parameters
    ----------
    queried : QueriedCandidates
    at : ScoredRow
    i : int
    near : float, optional
        A value nearer to `x` that is known to lose the class; that of `x` if not given.

    Notes
    -----
    The segment between a value that loses the class and one that keeps it is cut by a few points at once. Of those that
    keep the class the best is taken, for the loss alone the nearest, and the segment before it comes next.
    """
    grid = queried.grid
    lost = float(grid.home[i]) if near is None else near
    while len(points := grid.between(i, lost, float(at.z[i]), POINTS)):
        Z = np.tile(at.z, (len(points), 1))
        Z[:, i] = points
        values = queried.ask(Z)
        k = int(np.argmin(values))
        if values[k] < at.value:
            at = ScoredRow(float(values[k]), Z[k])
            lost = float(points[k - 1]) if k else lost
        else:
            lost = float(points[-1])
    return at


def polish(queried: QueriedCandidates, at: ScoredRow) -> ScoredRow:
    """Put features back one by one as long as the class stays, then zoom each that is left, the farthest first."""
    grid = queried.grid
    for _ in range(4):
        before = at.value
        while (put_back := _best_revert(queried, at)) is not None:
            at = put_back
        numbers = [i for i in grid.changed(at.z) if grid.is_numerical[i]]
        for i in sorted(numbers, key=lambda i: -grid.slope[i] * abs(at.z[i] - grid.home[i])):
            at = zoom(queried, at, i)
        if at.value > before - WORTHWHILE:
            break
    return at


def _best_revert(queried: QueriedCandidates, at: ScoredRow) -> ScoredRow | None:
    changed = queried.grid.changed(at.z)
    if len(changed) < 2:  # with the last one it would be x again
        return None
    Z = reverts(queried, at.z, changed)
    values = queried.ask(Z)
    k = int(np.argmin(values))
    return ScoredRow(float(values[k]), Z[k]) if values[k] < at.value else None


def reverts(queried: QueriedCandidates, z: FloatArray, features: list[int]) -> FloatArray:
    """Return a row for each of the features, in which it is put back to what it is in `x`."""
    Z = np.tile(z, (len(features), 1))
    Z[np.arange(len(features)), features] = queried.grid.home[features]
    return Z


AT_ONCE = 512
"""Candidates of one question."""


def sweep(queried: QueriedCandidates) -> None:
    """Find the best candidate with one changed feature, as far as the levels are fine enough to show it.

    The levels of all features are asked in the order of their cost, so that the first hits are the cheapest and what
    costs more than the best is never asked. Every hit of a numerical feature is followed back towards `x`.
    """
    grid = queried.grid
    if grid.base > 0:  # `x` lies off a step: what is nearest to it may be an answer
        queried.ask(grid.home[np.newaxis])
    if len(grid.free) == 0:
        return
    features = np.concatenate([np.full(len(grid.levels[i]), i) for i in grid.free])
    values = np.concatenate([grid.levels[i] for i in grid.free])
    costs = grid.base + np.concatenate([grid.costs[i] for i in grid.free])
    near_to_far = np.argsort(costs, kind="stable")
    followed: set[tuple[int, bool]] = set()
    for first in range(0, len(near_to_far), AT_ONCE):
        chunk = near_to_far[first : first + AT_ONCE]
        chunk = chunk[costs[chunk] < queried.limit]
        if len(chunk) == 0:
            return
        Z = grid.rows(features[chunk], values[chunk])
        answers = queried.ask(Z)
        for k in np.flatnonzero(np.isfinite(answers)):
            i, value = int(features[chunk[k]]), float(values[chunk[k]])
            side = (i, value > grid.home[i])
            if side in followed or not grid.is_numerical[i]:
                continue
            followed.add(side)
            near = _next_nearer(grid.levels[i], float(grid.home[i]), value)
            if grid.base + grid.least[i] + grid.slope[i] * abs(near - grid.home[i]) < queried.limit:
                zoom(queried, ScoredRow(float(answers[k]), Z[k]), i, near)


def _next_nearer(levels: np.ndarray[tuple[int], np.dtype[np.float64]], home: float, value: float) -> float:
    """Return the level next to `value` on the way home; `home` where there is none."""
    between = levels[(levels - home) * (value - levels) > 0]
    if len(between) == 0:
        return home
    return float(between.max() if value > home else between.min())


GRIDS_AT_ONCE = 1000
"""Candidates of one question."""

SLACK = 0.06
"""Tolerance per feature, as a fraction of full-range cost, within which a coarse-grid candidate is still refined."""

POLISHED = 8
"""Sets polished after a question, the best first."""


def grids(queried: QueriedCandidates, size: int, n_levels: int, features: list[int], most: int) -> None:
    """Ask all sets of `size` features over a grid of `n_levels` values each, and polish the hits.

    A set is left out if the smallest change of all its features already costs as much as the best; so is every
    candidate that costs clearly more. What is left is asked from near to far.

    Parameters
    ----------
    queried : QueriedCandidates
    size : int
    n_levels : int
    features : list of int
    most : int
        Candidates to ask.
    """
    grid = queried.grid
    slack = SLACK * size * float(np.median(grid.slope[features] * (grid.upper - grid.lower)[features]))
    places = {i: grid.some_levels(i, n_levels) for i in features}
    costs, sets, which = _candidates(queried, size, features, places, slack)
    near_to_far = np.argsort(costs, kind="stable")[:most]
    for first in range(0, len(near_to_far), GRIDS_AT_ONCE):
        chunk = near_to_far[first : first + GRIDS_AT_ONCE]
        chunk = chunk[costs[chunk] < queried.limit + slack]
        if len(chunk) == 0:
            return
        Z = _rows(queried, chunk, sets, which, places)
        values = queried.ask(Z)
        _polish_best(queried, Z, values, slack)


def _candidates(
    queried: QueriedCandidates, size: int, features: list[int], places: dict[int, IntArray], slack: float
) -> tuple[FloatArray, list[tuple[int, ...]], IntArray]:
    """Return the candidates worth asking: their costs, the sets, and for each its set and its place in the grid."""
    grid = queried.grid
    sets = [each for each in combinations(features, size) if grid.bound(each) < queried.limit]
    costs: list[FloatArray] = []
    which: list[IntArray] = []
    for number, each in enumerate(sets):
        sums = np.array(grid.base)
        for i in each:
            sums = np.add.outer(sums, grid.costs[i][places[i]])
        inside = np.flatnonzero(np.ravel(sums) < queried.limit + slack)
        costs.append(np.ravel(sums)[inside])
        which.append(np.stack([np.full(len(inside), number), inside], axis=1))
    if not sets:
        return np.empty(0), [], np.empty((0, 2), dtype=np.int64)
    return np.concatenate(costs), sets, np.concatenate(which)


def _rows(
    queried: QueriedCandidates,
    chunk: IntArray,
    sets: list[tuple[int, ...]],
    which: IntArray,
    places: dict[int, IntArray],
) -> FloatArray:
    grid = queried.grid
    Z = np.tile(grid.home, (len(chunk), 1))
    numbers = which[chunk, 0]
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        shape = [len(places[i]) for i in sets[number]]
        for i, place in zip(sets[number], np.unravel_index(which[chunk[rows], 1], shape), strict=True):
            Z[rows, i] = grid.levels[i][places[i][place]]
    return Z


def _polish_best(queried: QueriedCandidates, Z: FloatArray, values: FloatArray, slack: float) -> None:
    grid = queried.grid
    hits = np.flatnonzero(np.isfinite(values))
    seen: set[tuple[int, ...]] = set()
    for k in hits[np.argsort(values[hits], kind="stable")]:
        key = tuple(grid.changed(Z[k]))
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > POLISHED:
            return
        if grid.bound(key) < queried.limit and values[k] < queried.limit + slack:
            polish(queried, ScoredRow(float(values[k]), Z[k]))


ROWS = 16
"""Rows between `x` and anywhere, and as many from each of a few candidates outwards."""

CANDIDATES = 3
"""Candidates that are looked at beyond."""

ROUNDING = 1e-9
"""What sums in another order may differ by."""


def rests_on_draws(problem: Problem, Z: FloatArray) -> bool:
    """Evaluate rows twice, shape (n, d), and return whether the objective's term is an estimate.

    A searcher is told nothing of a term that is no sum over the features. Where equal rows differ, it rests on draws.
    If the term is zero for all of them, it may still differ elsewhere.
    """
    twice = np.concatenate([Z, Z])
    values, classes = problem.evaluate(twice)
    added = values - problem.distance(twice) - (classes != problem.target)
    first, second = np.split(added, 2)
    is_same = np.abs(first - second).max(initial=0.0) <= ROUNDING
    return not is_same or bool(np.abs(added).max(initial=0.0) <= ROUNDING)


def anywhere(queried: QueriedCandidates, rng: np.random.Generator) -> FloatArray:
    """Rows between `x`, where everything is kept, and the opposite, where everything is changed; shape (n, d)."""
    grid = queried.grid
    share = np.linspace(0, 1, ROWS)[:, np.newaxis]
    return np.where(rng.random((ROWS, grid.d)) < share, grid.sample(ROWS, rng), grid.home)


def beyond(queried: QueriedCandidates) -> FloatArray:
    """The best candidates, and rows ever farther out than they are; shape (n, d).

    A candidate on the boundary of its class loses it in every draw, perhaps, and one far inside in none: somewhere
    between, draws differ.
    """
    grid = queried.grid
    best = sorted(queried.best_of.values(), key=lambda found: found.value)[:CANDIDATES]
    if not best:
        return np.empty((0, grid.d))
    ways = 2.0 ** np.arange(ROWS) * 1e-3  # from a thousandth of the candidate's own way to all that the box has
    Z = [grid.home + (1 + ways[:, np.newaxis]) * (found.z - grid.home) for found in best]
    return np.concatenate([np.array([found.z for found in best]), grid.inside(np.concatenate(Z))])
