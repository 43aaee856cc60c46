"""Where the step *revert* starts from: rows of the target class, near if there are data, anywhere otherwise."""

from __future__ import annotations

import numpy as np

from cfbench import FloatArray, TrainingFold
from cfbench_searchers.sparse_sweep.inquiry import Found, Inquiry

AT_ONCE = 100
"""Training rows of one question."""

DRAWS = 500
"""Random rows of one question."""


def training_starts(inquiry: Inquiry, training: TrainingFold, target: int, wanted: int, most: int) -> list[Found]:
    """Return the training rows of the target class that are nearest to `x`, made plausible.

    Rows with the label `target` are asked before the others, since most of them have that class.

    Parameters
    ----------
    inquiry : Inquiry
    training : TrainingFold
    target : int
    wanted : int
        Rows to return.
    most : int
        Rows to ask.
    """
    terrain = inquiry.terrain
    found: list[Found] = []
    for label in (True, False):
        Z = np.unique(terrain.inside(training.X[(training.y == target) == label]), axis=0)
        Z = Z[np.argsort(inquiry.cost(Z), kind="stable")[:most]]
        for first in range(0, len(Z), AT_ONCE):
            if len(found) >= wanted:
                break
            found += _hits(inquiry, Z[first : first + AT_ONCE])
    return found[:wanted]


def random_starts(inquiry: Inquiry, rng: np.random.Generator, wanted: int) -> list[Found]:
    """Return random rows of the target class, the best first.

    A share of the features is changed, first a few, then most of them: to values anywhere in their intervals, in the
    end to the ends of these. Some linear models have no other class but in a corner of the box.
    """
    terrain = inquiry.terrain
    is_free = np.zeros(terrain.d, dtype=bool)
    is_free[terrain.free] = True
    found: list[Found] = []
    for share, corners in ((0.3, False), (0.6, False), (0.9, False), (0.5, True), (1.0, True)):
        Z = terrain.sample(DRAWS, rng)
        if corners:
            ends = np.where(rng.random(Z.shape) < 0.5, terrain.lower, terrain.upper)
            Z = np.where(terrain.is_numerical, ends, Z)
        Z = np.where((rng.random(Z.shape) < share) & is_free, Z, terrain.home)
        found += _hits(inquiry, Z)
        if len(found) >= wanted:
            break
    return sorted(found, key=lambda each: each.value)[:wanted]


def _hits(inquiry: Inquiry, Z: FloatArray) -> list[Found]:
    values = inquiry.ask(Z)
    return [Found(float(values[k]), Z[k]) for k in np.flatnonzero(np.isfinite(values))]
