"""The exact probability that a random K-perturbation keeps the class of a counterfactual, as an interval."""

from __future__ import annotations

import heapq
import time
from typing import NamedTuple

from cfbench.forests.boxes import Box, KBox, Votes
from cfbench.forests.counting import Counter
from cfbench.forests.rehearsal import rehearse
from cfbench.forests.structure import ForestStructure
from cfbench.space import FeatureSpace, FloatArray


class Interval(NamedTuple):
    """What encloses a probability.

    Parameters
    ----------
    lower, upper : float
    """

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

    Best-first splitting: the likeliest part of the box that is not settled is bounded as for a certificate
    (:func:`cfbench.forests.certificate.k_certificate`). Where the class leads on all of it, its probability is added
    below; where another one does, taken off above. Else its cells are counted where they are few, or it is cut in two.
    The K-robustness score is a sample of this.

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
    rehearse()
    box = KBox.of(structure, space, x, z)
    counter = Counter(box, place)
    end = None if seconds is None else time.perf_counter() + seconds
    kept, lost, made = 0.0, 0.0, 1
    waiting = [(-1.0, 0, box.whole)]
    while waiting and 1 - kept - lost > width:
        share, _, part = heapq.heappop(waiting)
        votes, part = box.votes(part, place)
        of_kept = _settled(votes, part, counter, -share, structure.rounding)
        if of_kept is not None:
            kept, lost = kept - share * of_kept, lost - share * (1 - of_kept)
        else:
            for half, of_part in box.cut(part, votes):
                if of_part > 0:
                    heapq.heappush(waiting, (share * of_part, made, half))
                    made += 1
        if end is not None and time.perf_counter() > end:
            break
    if not waiting:  # what is left between the sums is rounding
        middle = kept / (kept + lost)
        return Interval(middle, middle)
    return Interval(max(0.0, kept), min(1.0, 1 - lost))


def _settled(votes: Votes, part: Box, counter: Counter, share: float, unclear: float) -> float | None:
    """Return the share of a part that keeps the class; None where it has to be cut."""
    if (votes.least > unclear).all():
        return 1.0
    if (votes.most < -unclear).any():
        return 0.0
    if not votes.pull.any():
        return float(counter.holds(part.low))
    return counter.kept(part) if counter.takes(part, share) else None
