"""The exact share of a small box that has a class, by counting all of its cells.

Two features are swept at once (:func:`cfbench.forests.sweeps.leads_of_pair`), for every combination of cells of the
others. Where few of these are left, that is quicker than cutting the box into parts that are settled one by one.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from cfbench.forests.boxes import Box, KBox
from cfbench.forests.sweeps import kept_of_pair, leads_of_pair
from cfbench.space import FloatArray, IntArray

WORK = 2e8
"""Steps that counting may take for the whole box, and for a part that share of them which it has of the probability."""

STEPS_A_TREE = 60
"""Steps that a tree takes in a sweep, about."""


class Counter:
    """Counts the cells of parts of a box.

    Parameters
    ----------
    box : KBox
    target : int
        Place of the class.
    """

    def __init__(self, box: KBox, target: int) -> None:
        self._box = box
        self._target = target
        structure = box.structure
        self._ordered = np.flatnonzero(~structure.is_coded)
        unclear = structure.rounding
        self._clear = (unclear, -unclear)
        if structure.sums_are_exact and len(structure.classes) == 2:  # then a tie is a tie, and goes to the first class
            self._clear = (-unclear, -unclear) if target == 0 else (unclear, unclear)

    def holds(self, cells: IntArray) -> bool:
        """Whether a point has the class."""
        structure = self._box.structure
        return bool(structure.predict_cells(cells[np.newaxis])[0] == structure.classes[self._target])

    def pair(self, part: Box) -> tuple[int, int] | None:
        """Return the two features with the most cells; None where there are no two in order."""
        if len(self._ordered) < 2:
            return None
        widths = (part.high - part.low)[self._ordered]
        one, two = self._ordered[np.argsort(-widths, kind="stable")[:2]]
        return int(one), int(two)

    def takes(self, part: Box, share: float) -> bool:
        """Whether a part with this share of the probability is small enough."""
        pair = self.pair(part)
        if pair is None:
            return False
        counts = np.add.reduceat(part.allowed, self._box.structure.first_cell[:-1], dtype=np.float64)
        cells = counts[list(pair)].prod() * (len(self._box.structure.classes) - 1)
        sweeps = counts.prod() / counts[list(pair)].prod()
        return bool(sweeps * (STEPS_A_TREE * len(part.entries) + cells) <= share * WORK)

    def kept(self, part: Box) -> float:
        """Return the share of a part's probability that has the class."""
        pair = self.pair(part)
        assert pair is not None
        structure, first = self._box.structure, self._box.structure.first_cell
        spans = tuple(int(part[end][f]) for f in pair for end in (0, 1))
        walked = structure.walked._replace(roots=part.entries.astype(np.int32))
        masses = [self._mass(part, f) for f in range(structure.d)]
        widths = tuple(masses[f][spans[2 * k] : spans[2 * k + 1] + 1] for k, f in enumerate(pair))
        others = [f for f in range(structure.d) if f not in pair and part.high[f] > part.low[f]]
        allowed = [np.flatnonzero(part.allowed[first[f] : first[f + 1]]) for f in others]
        cells: IntArray = part.low.copy()
        kept = 0.0
        for combination in product(*allowed):
            weight = 1.0
            for f, cell in zip(others, combination, strict=True):
                cells[f] = cell
                weight *= float(masses[f][cell])
            if weight > 0:
                leads = leads_of_pair(walked, structure.depth, cells, pair, self._target, spans, part.settled)
                kept += weight * float(
                    kept_of_pair(structure.walked, cells, pair, self._target, spans, widths, self._clear, leads)
                )
        return kept

    def _mass(self, part: Box, f: int) -> FloatArray:
        """Return the probabilities of a feature's cells within a part; they add up to 1."""
        own = slice(self._box.structure.first_cell[f], self._box.structure.first_cell[f + 1])
        mass: FloatArray = np.where(part.allowed[own], self._box.mass[own], 0.0)
        mass /= mass.sum()
        return mass
