"""Growing Spheres: sample in layers of growing radius around `x` until the target class is met."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cfbench import Problem, Searcher
from cfbench.space import FloatArray


class GrowingSpheres(Searcher):
    """Growing Spheres, in the features' raw units.

    A ball around `x` shrinks by a factor until none of its samples is of the target class; layers of fixed width then
    grow from there until one holds such samples. The closest of them by Gower's distance is made sparse: its features
    are put back to those of `x`, the least moved first, as long as the class stays.

    In raw units a step that crosses one feature is nothing to another, which makes the published results what they are;
    `GrowingSpheresScaled` measures in ranges.

    Decisions: as in the published code, the radius shrinks once more after the first ball without a target sample, and
    the layers, of width ``(factor - 1) r / 5``, start from that radius r. Every sample is clipped to the feasible box.
    Categories are moved and queried as numbers, and rounded at the end, as in the paper. If the rounded point loses
    the class, nothing was found. The search gives up when the layers have passed the diameter of the feasible box. A
    search that uses up its query budget lets that pass: what it has asked until then is judged.

    Parameters
    ----------
    n_in_layer : int
        Samples a ball or layer.
    first_radius : float
        Of the first ball, in the features' units; the diameter of the feasible box, where that is smaller.
    decrease_factor : float
        By which the ball shrinks; more than 1.
    sparse : bool
        Whether the sparse projection follows.

    References
    ----------
    Laugel, Lesot, Marsala, Renard and Detyniecki, "Comparison-based inverse classification for interpretability in
    machine learning", IPMU 2018, algorithms 1 and 2.
    """

    n_in_layer: int = Field(default=2000, ge=1)
    first_radius: float = Field(default=0.1, gt=0)
    decrease_factor: float = Field(default=10, gt=1)
    sparse: bool = True

    def search(self, problem: Problem, rng: np.random.Generator) -> FloatArray | None:
        """Return the closest target point of the first layer that has any; None beyond the space's diameter."""
        found = self._explore(problem, rng)
        if len(found) == 0:
            return None
        closest: FloatArray = found[np.argmin(problem.space.gower(found, problem.x))]
        sparse = made_sparse(problem, closest, self._units(problem)) if self.sparse else closest
        return rounded(problem, sparse)

    def _units(self, problem: Problem) -> FloatArray:
        """What a radius of 1 means for each feature, shape (d,)."""
        return np.ones(problem.space.d)

    def _explore(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """Zoom in, then grow; return the target points of the first layer that holds any, shape (k, d)."""
        box = problem.box
        units = self._units(problem)
        diameter = float(np.linalg.norm((box.upper - box.lower) / units))
        found = np.empty((0, len(units)))
        if diameter == 0:
            return found

        def target_points(inner: float, outer: float) -> FloatArray:
            moves = layer(self.n_in_layer, len(units), inner, outer, rng) * units
            Z = box.inside(problem.x + moves)
            hits: FloatArray = Z[problem.predict(Z) == problem.target]
            return hits

        radius = min(self.first_radius, diameter)
        # A model may give the target class to any number between two categories: zooming ends where numbers do.
        smallest = np.finfo(np.float64).eps * diameter
        while radius > smallest and len(target_points(0.0, radius)):
            radius /= self.decrease_factor
        radius /= self.decrease_factor
        width = (self.decrease_factor - 1) * radius / 5
        while len(found) == 0 and radius < diameter:
            found = target_points(radius, radius + width)
            radius += width
        return found


class GrowingSpheresScaled(GrowingSpheres):
    """Growing Spheres in units of each feature's range, categories counted as the numbers of their codes.

    All else is as in `GrowingSpheres`; the same settings, with radii as shares of a range.
    """

    def _units(self, problem: Problem) -> FloatArray:
        widths = problem.space.upper - problem.space.lower
        # A feature with a single category has no range; it stays where it is in any unit.
        units: FloatArray = np.where(widths > 0, widths, 1.0)
        return units


def rounded(problem: Problem, z: FloatArray) -> FloatArray | None:
    """Turn a point whose categories were moved as numbers into an answer: the nearest feasible point, shape (d,).

    Classifies the point again if rounding moved it; None if the class is lost.
    """
    answer = problem.project(z)
    if not np.array_equal(answer, z) and problem.predict(answer[np.newaxis])[0] != problem.target:
        return None
    return answer


def layer(n: int, d: int, inner: float, outer: float, rng: np.random.Generator) -> FloatArray:
    """Draw `n` points uniformly from the layer between two spheres around the origin; shape (n, d)."""
    directions = rng.standard_normal((n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # The volume inside a radius grows with its d-th power. Taken as shares of the outer one, small radii stay above 0.
    core = (inner / outer) ** d
    radii = outer * (core + (1 - core) * rng.random((n, 1))) ** (1 / d)
    return radii * directions


def made_sparse(problem: Problem, z: FloatArray, units: FloatArray) -> FloatArray:
    """Restore features of `z` to those of `x`, the least moved first, while the model keeps the target class."""
    x = problem.x
    moves = np.abs(z - x) / units
    sparse = z.copy()
    for i in np.argsort(moves, kind="stable"):
        if moves[i] == 0:
            continue
        trial = sparse.copy()
        trial[i] = x[i]
        if problem.predict(trial[np.newaxis])[0] == problem.target:
            sparse = trial
    return sparse
