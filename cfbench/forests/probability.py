"""The exact probability that a random K-perturbation keeps the class of a counterfactual, as an interval."""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

from cfbench.forests.boxes import KBox
from cfbench.forests.parting import Parting, warm_up
from cfbench.forests.structure import ForestStructure
from cfbench.space.space import FeatureSpace, FloatArray


class Interval(NamedTuple):
    """What encloses a probability: `lower` and `upper`."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """How much is left open."""
        return self.upper - self.lower

    @property
    def middle(self) -> float:
        """The number that is nowhere further than half of the width from the truth."""
        return (self.lower + self.upper) / 2


def k_probability(
    structure: ForestStructure,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    *,
    width: float = 0.01,
    seconds: float | None = None,
) -> Interval:
    """Enclose the probability that a uniform K-perturbation of `z` has the class `target`.

    Two features span a sheet, in whose cells votes are bounded all at once while the others are anywhere in a part of
    the box (:mod:`cfbench.forests.sheets`). The probability of cells in which the class leads for certain is added
    below; of those in which another one does, taken off above. The part with the largest probability in between is cut
    in two, at a feature beyond the sheet, until the interval is narrow. The K-robustness score is a sample of this.

    Parameters
    ----------
    structure : ForestStructure
    space : FeatureSpace
    x, z : ndarray of float64, shape (d,)
        The factual point and its counterfactual.
    target : int
    width : float
        At most so wide the interval shall be.
    seconds : float or None
        Wall-clock limit, after which it is as wide as it is; None: no limit.
    """
    place = structure.place_of(target)
    if place is None:
        return Interval(0.0, 0.0)
    warm_up()
    parting = Parting(KBox.of(structure, space, x, z), place)
    end = None if seconds is None else time.perf_counter() + seconds
    found = parting.whole()
    kept, lost, made = found.kept, found.lost, 1
    waiting = [(0.0, 0, found)] if found.open_box is not None else []
    while waiting and 1 - kept - lost > width:
        part = heapq.heappop(waiting)[-1]
        kept, lost = kept - part.open_kept, lost - part.open_lost
        for half in parting.halves(part):
            kept, lost = kept + half.kept, lost + half.lost
            if half.open_box is not None:
                heapq.heappush(waiting, (half.kept + half.lost - half.size, made, half))
                made += 1
        if end is not None and time.perf_counter() > end:
            break
    if not waiting:  # what is left between the sums is rounding
        middle = kept / (kept + lost)
        return Interval(middle, middle)
    return Interval(max(0.0, kept), min(1.0, 1 - lost))
