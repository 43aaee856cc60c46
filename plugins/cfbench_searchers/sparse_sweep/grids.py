"""The step *pairs and triples*: sets of features moved together, over coarse and then finer grids."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cfbench import FloatArray, IntArray
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry
from cfbench_searchers.sparse_sweep.zoom import polish

AT_ONCE = 1000
"""Candidates of one question."""

SLACK = 0.06
"""How much dearer than the best a candidate may be, for each of its features, as a share of what crossing a whole range
costs: between two points of a coarse grid it may come down by that."""

POLISHED = 8
"""Sets polished after a question, the best first."""


def grids(inquiry: Inquiry, size: int, n_levels: int, features: list[int], most: int) -> None:
    """Ask all sets of `size` features over a grid of `n_levels` values each, and polish the hits.

    A set is left out if the smallest change of all its features already costs as much as the best; so is every
    candidate that costs clearly more. What is left is asked from near to far.

    Parameters
    ----------
    inquiry : Inquiry
    size : int
    n_levels : int
    features : list of int
    most : int
        Candidates to ask.
    """
    terrain = inquiry.terrain
    slack = SLACK * size * float(np.median(terrain.slope[features] * (terrain.upper - terrain.lower)[features]))
    places = {i: terrain.some_levels(i, n_levels) for i in features}
    costs, sets, which = _candidates(inquiry, size, features, places, slack)
    near_to_far = np.argsort(costs, kind="stable")[:most]
    for first in range(0, len(near_to_far), AT_ONCE):
        chunk = near_to_far[first : first + AT_ONCE]
        chunk = chunk[costs[chunk] < inquiry.limit + slack]
        if len(chunk) == 0:
            return
        Z = _rows(inquiry, chunk, sets, which, places)
        values = inquiry.ask(Z)
        _polish_best(inquiry, Z, values, slack)


def _candidates(
    inquiry: Inquiry, size: int, features: list[int], places: dict[int, IntArray], slack: float
) -> tuple[FloatArray, list[tuple[int, ...]], IntArray]:
    """Return the candidates worth asking: their costs, the sets, and for each its set and its place in the grid."""
    terrain = inquiry.terrain
    sets = [each for each in combinations(features, size) if terrain.bound(each) < inquiry.limit]
    costs: list[FloatArray] = []
    which: list[IntArray] = []
    for number, each in enumerate(sets):
        grid = np.array(terrain.base)
        for i in each:
            grid = np.add.outer(grid, terrain.costs[i][places[i]])
        inside = np.flatnonzero(np.ravel(grid) < inquiry.limit + slack)
        costs.append(np.ravel(grid)[inside])
        which.append(np.stack([np.full(len(inside), number), inside], axis=1))
    if not sets:
        return np.empty(0), [], np.empty((0, 2), dtype=np.int64)
    return np.concatenate(costs), sets, np.concatenate(which)


def _rows(
    inquiry: Inquiry, chunk: IntArray, sets: list[tuple[int, ...]], which: IntArray, places: dict[int, IntArray]
) -> FloatArray:
    terrain = inquiry.terrain
    Z = np.tile(terrain.home, (len(chunk), 1))
    numbers = which[chunk, 0]
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        shape = [len(places[i]) for i in sets[number]]
        for i, place in zip(sets[number], np.unravel_index(which[chunk[rows], 1], shape), strict=True):
            Z[rows, i] = terrain.levels[i][places[i][place]]
    return Z


def _polish_best(inquiry: Inquiry, Z: FloatArray, values: FloatArray, slack: float) -> None:
    terrain = inquiry.terrain
    hits = np.flatnonzero(np.isfinite(values))
    seen: set[tuple[int, ...]] = set()
    for k in hits[np.argsort(values[hits], kind="stable")]:
        key = tuple(terrain.changed(Z[k]))
        if key in seen:
            continue
        seen.add(key)
        if len(seen) > POLISHED:
            return
        if terrain.bound(key) < inquiry.limit and values[k] < inquiry.limit + slack:
            polish(inquiry, Found(float(values[k]), Z[k]))
