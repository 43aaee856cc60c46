"""Gower's distance alone as an objective: what solvers minimise that know no price for a changed feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfbench import FeatureSpace, Need, Problem
from cfbench.problem.oracle import Meter
from cfbench.space import FloatArray, IntArray


class GowerOnly:
    """A term that turns the loss into Gower's distance: it adds the other half of it, and takes the changes off.

    Parameters
    ----------
    space : FeatureSpace
    x : ndarray of float64, shape (d,)
    """

    def __init__(self, space: FeatureSpace, x: FloatArray) -> None:
        self._space, self._x = space, x
        self.breaks = tuple(np.array([value]) for value in x)

    def parts(self, Z: FloatArray) -> FloatArray:
        """Return each feature's part, shape (n, d); linear on either side of `x`."""
        changed = (self._x != Z).astype(np.float64)
        gower = np.where(self._space.is_categorical, changed, np.abs(Z - self._x) / self._space.ranges)
        parts: FloatArray = 0.5 * (gower - changed) / self._space.d
        return parts

    def __call__(self, Z: FloatArray, classes: IntArray) -> FloatArray:  # noqa: ARG002 - a term receives both
        """Return the term, shape (n,)."""
        total: FloatArray = self.parts(Z).sum(axis=1)
        return total


def problem_by(norm: str, model: Any, space: FeatureSpace, x: FloatArray, target: int) -> Problem:
    """Return a problem on a model that shows its trees, by the loss, or by Gower's distance with ``norm="gower"``."""
    term = GowerOnly(space, x) if norm == "gower" else None
    return Problem(x, target, space, Meter(model, space.d), term=term, needs=[Need.FOREST], model=model)
