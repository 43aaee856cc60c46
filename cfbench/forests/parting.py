"""Parts of a box of K-perturbations, each with a sheet of two features; and a run of all compiled code on a toy."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from cfbench.forests.boxes import Box, KBox
from cfbench.forests.sheets import bound_sheet, settle_cells, spreads_of, where_to_cut
from cfbench.forests.structure import ForestStructure
from cfbench.space.space import FeatureSpace, FeatureSpec, FloatArray, Kind, NumericalPerturbation


class BoxPart(NamedTuple):
    """A part of a box.

    `size` is the probability to be in the part; `kept` and `lost` are what of it keeps and loses the class for certain.
    `open_box` is the smallest box around what is not settled, None if all is; `open_kept` and `open_lost` are what of
    `kept` and `lost` lies in it, and `pull` and `place`, shape (d,), say where to cut it. `share` is the probability of
    all features beyond the sheet to be in the part.
    """

    size: float
    kept: float
    lost: float
    open_box: Box | None = None
    share: float = 0.0
    open_kept: float = 0.0
    open_lost: float = 0.0
    pull: FloatArray | None = None
    place: FloatArray | None = None


class Parting:
    """Looks at the parts of a box for the class at the place `target`.

    The sheet's features are never cut: those two, of the ones in order, where there is most to gain from cuts.
    """

    def __init__(self, box: KBox, target: int) -> None:
        structure = box.structure
        self._box = box
        self._target = target
        self._spread = spreads_of(structure.walked, target)
        self._waiting = np.empty((structure.depth + 2, 6), dtype=np.int64)
        self._leaves = np.empty((len(structure.nodes) // 2 + 1, 5), dtype=np.int64)
        votes, self._whole = box.votes(box.whole, target)
        ordered = ~structure.is_coded & (box.whole.low < box.whole.high)
        by_gain = [int(i) for i in np.lexsort((box.whole.low - box.whole.high, -votes.pull)) if ordered[i]]
        self._pair = (*by_gain[:2], -1, -1)[:2]
        unclear = structure.rounding
        self._clear = (unclear, -unclear)
        if structure.sums_are_exact and len(structure.classes) == 2:  # then a tie is a tie, and goes to the first class
            self._clear = (-unclear, -unclear) if target == 0 else (unclear, unclear)

    def whole(self) -> BoxPart:
        """Look at all of the box."""
        return self._look(self._whole, 1.0)

    def halves(self, part: BoxPart) -> list[BoxPart]:
        """Cut a part's open box in two, and look at both."""
        assert part.open_box is not None
        assert part.pull is not None
        assert part.place is not None
        halves = self._box.cut(part.open_box, part.pull, part.place)
        return [self._look(half, part.share * of_part) for half, of_part in halves if of_part > 0]

    def _look(self, box: Box, share: float) -> BoxPart:
        structure, first = self._box.structure, self._box.structure.first_cell
        spans = [(int(box.low[f]), int(box.high[f]) + 1) if f >= 0 else (0, 1) for f in self._pair]
        mass = tuple(self._mass(f, *span) for f, span in zip(self._pair, spans, strict=True))
        least, most = np.empty((len(mass[0]), len(mass[1]))), np.empty((len(mass[0]), len(mass[1])))
        entries, settled, pull = box.entries.copy(), box.settled.copy(), np.zeros(first[-1])
        sides = (box.low, box.high, box.allowed)
        n_cut = bound_sheet(
            *(structure.walked, self._target, sides, first, self._pair, entries, settled),
            *(self._spread, self._waiting, self._leaves, pull, least, most),
        )
        counted = not pull.any()
        settle = (structure.walked, self._target, box.low, self._pair)
        size = share * float(mass[0].sum() * mass[1].sum())
        kept, lost, top, bottom, left, right = settle_cells(*settle, mass, self._clear, least, most, counted)
        if bottom < 0:
            return BoxPart(size, share * kept, share * lost)
        low, high = box.low.copy(), box.high.copy()
        for f, (start, _), (near, far) in zip(self._pair, spans, ((top, bottom), (left, right)), strict=True):
            if f >= 0:
                low[f], high[f] = start + near, start + far
        inner = (slice(top, bottom + 1), slice(left, right + 1))
        within = (mass[0][inner[0]], mass[1][inner[1]])
        open_kept, open_lost, *_ = settle_cells(*settle, within, self._clear, least[inner], most[inner], counted)
        rest = Box(low, high, box.allowed, entries[:n_cut], settled)
        kept, lost, open_kept, open_lost = (share * part for part in (kept, lost, open_kept, open_lost))
        return BoxPart(
            size, kept, lost, rest, share, open_kept, open_lost, *where_to_cut(pull, first, structure.is_coded)
        )

    def _mass(self, f: int, start: int, stop: int) -> FloatArray:
        """Return the probabilities of some cells of a feature of the sheet."""
        if f < 0:
            return np.ones(1)
        first = int(self._box.structure.first_cell[f])
        return self._box.mass[first + start : first + stop]


def toy_forest() -> ForestStructure:
    """Return a forest of two trees on two numbers and one category: class 1 where both numbers are above 1/2."""
    first = [[0, 0, 1, 2], [-1, 0, 0, 0], [-1, 0, 1, 0]]
    second = [[1, 0, 4, 5], [2, -1, 6, 7], [-1, 0, 1, 0], [-1, 0, 0, 0], [-1, 0, 0, 0]]
    return ForestStructure(
        classes=np.array([0, 1]),
        nodes=np.array([*first, *second], dtype=np.int32),
        roots=np.array([0, 3], dtype=np.int32),
        shares=np.array([[0.75, 0.25], [0.375, 0.625]]),
        boundaries=(np.array([0.5]), np.array([0.5]), np.empty(0)),
        cell_of_code=(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.array([0, 1])),
    )


@cache
def warm_up() -> None:
    """Call every kernel of this package."""
    structure = toy_forest()
    moves = NumericalPerturbation(1, 1)
    numbers = [FeatureSpec(name, Kind.NUMERICAL, 0, 1, perturbation=moves) for name in ("a", "b")]
    space = FeatureSpace((*numbers, FeatureSpec("c", Kind.CATEGORICAL, 0, 1, ("x", "y"))))
    z = np.zeros(3)
    box = KBox.of(structure, space, z, z)
    votes, whole = box.votes(box.whole, 0)
    assert len(list(box.cut(whole, votes.pull, votes.place))) == 2
    structure.predict_cells(whole.low[np.newaxis])
    part = Parting(box, 0).whole()
    assert abs(part.kept + part.lost - 1) < 1e-12
