"""The box of all K-perturbations of a counterfactual, in the cells of a forest, with its uniform measure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cfbench.forests.structure import ForestStructure
from cfbench.forests.walks import vote_range
from cfbench.robustness.neighbours import perturbed_value
from cfbench.robustness.reach import Reach
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray


class Box(NamedTuple):
    """A part of the box: the cells that its points may have.

    `low` and `high`, shape (d,), are the lowest and the highest cell of each feature. `allowed`, shape (cells,), says
    which cells belong to it, all features' cells numbered through; within a feature that is not coded, those between
    `low` and `high` that hold any value of the perturbation. The box enters the trees that it may cut at `entries`;
    `settled`, shape (K,), are the votes of all other trees.
    """

    low: IntArray
    high: IntArray
    allowed: BoolArray
    entries: IntArray
    settled: FloatArray


class Votes(NamedTuple):
    """What is known of the votes of all points of a box.

    `least` and `most`, shape (K,), bound the target's votes less those of each class; they are infinite for the target.
    `pull`, shape (d,), is how much there is to gain from cutting the box at each feature, all 0 if no tree is cut, and
    `place` where to cut it.
    """

    least: FloatArray
    most: FloatArray
    pull: FloatArray
    place: FloatArray


@dataclass(frozen=True, eq=False)
class KBox:
    """All K-perturbations of a counterfactual: each feature that it keeps anywhere within its perturbation.

    Decision: the box is closed, and holds the present category even where the perturbation set lacks it, since a
    perturbation may leave a feature alone. The measure is that of the K-robustness score: numbers uniform within their
    bounds and then clipped to their interval, categories uniform over the perturbation set; its uniform numbers are
    taken for real ones.

    `lower` and `upper`, shape (d,), are the sides of numerical features; `codes` the values of each categorical one,
    empty for numerical ones; `mass`, shape (cells,), the probability of each cell, which add up to 1 for each feature.

    References
    ----------
    Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse perturbations", section
    "Robustness for K".
    """

    structure: ForestStructure
    z: FloatArray
    lower: FloatArray
    upper: FloatArray
    codes: tuple[FloatArray, ...]
    whole: Box
    mass: FloatArray

    @classmethod
    def of(cls, structure: ForestStructure, space: FeatureSpace, x: FloatArray, z: FloatArray) -> KBox:
        """Make the box of a counterfactual `z`, shape (d,), of the factual point `x`."""
        reach, own = Reach.of(space), structure.cells(z[np.newaxis])[0]
        lowest, highest = (bound[0] for bound in reach.bounds(z[np.newaxis]))
        ends = [perturbed_value(z, share, lowest, highest, space.lower, space.upper) for share in (0.0, 1.0)]
        moves = (z == x) & ~space.is_categorical & ((reach.decrease > 0) | (reach.increase > 0))
        lower, upper = (np.where(moves, end, z) for end in ends)
        allowed, mass = np.zeros(structure.first_cell[-1], dtype=bool), np.zeros(structure.first_cell[-1])
        codes: list[FloatArray] = []
        for i, first in enumerate(structure.first_cell[:-1]):
            drawn = reach.categories[i].astype(np.float64)
            codes.append(np.empty(0))
            if moves[i]:
                start, stop = np.searchsorted(structure.boundaries[i], [lower[i], upper[i]])
                shares = _shares_below(structure.boundaries[i], z[i] + lowest[i], highest[i] - lowest[i])
                shares[structure.boundaries[i] >= upper[i]] = 1.0
                shares[structure.boundaries[i] < lower[i]] = 0.0
                allowed[first + start : first + stop + 1] = True
                mass[first : first + len(shares) + 1] = np.diff(shares, prepend=0.0, append=1.0)
            elif space.is_categorical[i] and z[i] == x[i] and len(drawn):
                codes[i] = np.union1d(drawn, z[i])
                allowed[first + structure.cells_of(i, codes[i])] = True
                np.add.at(mass, first + structure.cells_of(i, drawn), 1 / len(drawn))
            else:
                allowed[first + own[i]], mass[first + own[i]] = True, 1.0
        return cls(structure, z, lower, upper, tuple(codes), _whole(structure, allowed), mass)

    def votes(self, box: Box, target: int) -> tuple[Votes, Box]:
        """Bound the votes of all points of a part; return it with the trees settled that it does not cut.

        `target` is the place of a class.
        """
        structure, k = self.structure, len(self.structure.classes)
        votes = Votes(np.empty(k), np.empty(k), np.empty(structure.d), np.empty(structure.d))
        entries, settled = box.entries.copy(), box.settled.copy()
        sides = (box.low, box.high, box.allowed)
        n_cut = vote_range(
            structure.walked, structure.depth, target, sides, structure.first_cell, entries, settled, *votes
        )
        votes.least[target], votes.most[target] = np.inf, np.inf
        return votes, box._replace(entries=entries[:n_cut], settled=settled)

    def cut(self, box: Box, pull: FloatArray, place: FloatArray) -> Iterator[tuple[Box, float]]:
        """Cut a part in two where it pulls most: at a boundary, or one category off the others.

        Each half comes with its share of the whole part's probability; `pull` and `place` are those of `Votes`.
        """
        i = int(np.argmax(pull))
        own = slice(int(self.structure.first_cell[i]), int(self.structure.first_cell[i + 1]))
        there, cell = np.flatnonzero(box.allowed[own]), round(float(place[i]))
        if self.structure.is_coded[i]:
            halves = [there[there == cell], there[there != cell]]
        else:
            middle = min(max(cell, int(box.low[i])), int(box.high[i]) - 1)
            halves = [there[there <= middle], there[there > middle]]
        mass = [float(self.mass[own][half].sum()) for half in halves]
        for half, of_half in zip(halves, mass, strict=True):
            low, high, allowed = box.low.copy(), box.high.copy(), box.allowed.copy()
            low[i], high[i], allowed[own] = half[0], half[-1], False
            allowed[own][half] = True
            yield Box(low, high, allowed, box.entries, box.settled), of_half / sum(mass) if sum(mass) > 0 else 0.0

    def point(self, cells: IntArray) -> FloatArray:
        """Return a point of the box with the given cells, shape (d,): each feature as near to `z` as it can be."""
        point = self.z.copy()
        for i in np.flatnonzero(cells != self.structure.cells(self.z[np.newaxis])[0]).tolist():
            if len(self.codes[i]):
                point[i] = self.codes[i][np.flatnonzero(self.structure.cells_of(i, self.codes[i]) == cells[i])[0]]
                continue
            ends, cell = self.structure.boundaries[i], cells[i]
            first_value = np.nextafter(ends[cell - 1], np.inf) if cell > 0 else -np.inf
            last_value = ends[cell] if cell < len(ends) else np.inf
            point[i] = np.clip(self.z[i], max(first_value, self.lower[i]), min(last_value, self.upper[i]))
        return point


def _whole(structure: ForestStructure, allowed: BoolArray) -> Box:
    """Return the box of all cells that are allowed."""
    parts = [np.flatnonzero(part) for part in np.split(allowed, structure.first_cell[1:-1])]
    low, high = (np.array([part[end] for part in parts]) for end in (0, -1))
    return Box(low, high, allowed, structure.roots.astype(np.int64), np.zeros(len(structure.classes)))


def _shares_below(ends: FloatArray, start: float, width: float) -> FloatArray:
    """Return the share of a uniform number that lies at or below each of `ends`, before it is clipped."""
    if width == 0:
        return (ends >= start).astype(np.float64)
    return np.clip((ends - start) / width, 0.0, 1.0)
