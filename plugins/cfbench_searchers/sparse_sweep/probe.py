"""Whether what the objective adds to the loss rests on draws."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray, Problem
from cfbench_searchers.sparse_sweep.inquiry import Inquiry

ROWS = 16
"""Rows between `x` and anywhere, and as many from each of a few candidates outwards."""

CANDIDATES = 3
"""Candidates that are looked at beyond."""

ROUNDING = 1e-9
"""What sums in another order may differ by."""


def rests_on_draws(problem: Problem, Z: FloatArray) -> bool:
    """Ask rows twice, shape (n, d), and say whether what the objective adds to them has to be taken for an estimate.

    A searcher is told nothing of a term that is no sum over the features. Where equal rows differ, it rests on draws.
    Where it is nothing for all of them, it may still be something elsewhere, and nobody knows what.
    """
    twice = np.concatenate([Z, Z])
    values, classes = problem.evaluate(twice)
    added = values - problem.distance(twice) - (classes != problem.target)
    first, second = np.split(added, 2)
    is_same = np.abs(first - second).max(initial=0.0) <= ROUNDING
    return not is_same or bool(np.abs(added).max(initial=0.0) <= ROUNDING)


def anywhere(inquiry: Inquiry, rng: np.random.Generator) -> FloatArray:
    """Rows between `x`, where everything is kept, and the opposite, where everything is changed; shape (n, d)."""
    terrain = inquiry.terrain
    share = np.linspace(0, 1, ROWS)[:, np.newaxis]
    return np.where(rng.random((ROWS, terrain.d)) < share, terrain.sample(ROWS, rng), terrain.home)


def beyond(inquiry: Inquiry) -> FloatArray:
    """The best candidates, and rows ever farther out than they are; shape (n, d).

    A candidate on the boundary of its class loses it in every draw, perhaps, and one far inside in none: somewhere
    between, draws differ.
    """
    terrain = inquiry.terrain
    best = sorted(inquiry.best_of.values(), key=lambda found: found.value)[:CANDIDATES]
    if not best:
        return np.empty((0, terrain.d))
    ways = 2.0 ** np.arange(ROWS) * 1e-3  # from a thousandth of the candidate's own way to all that the box has
    Z = [terrain.home + (1 + ways[:, np.newaxis]) * (found.z - terrain.home) for found in best]
    return np.concatenate([np.array([found.z for found in best]), terrain.inside(np.concatenate(Z))])
