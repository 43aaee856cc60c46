"""K-robustness of counterfactuals on linear models: certificates in closed form, probabilities as intervals.

The target's lead over a rival class is a sum over the features, and K-perturbations are independent. So the least lead
is the sum of the features' least parts, and the lead's distribution is a convolution.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from cfbench.forests.certificate import Certificate, Settled
from cfbench.forests.probability import Interval
from cfbench.linear.structure import LinearStructure
from cfbench.robustness.neighbours import perturbed_value
from cfbench.robustness.reach import Reach
from cfbench.space.space import FeatureSpace, FloatArray

_FIRST, _LAST = 2**10, 2**18
"""Steps of the grid on which a sum's distribution is bounded: at first, and at most."""

_MOST_ATOMS = 256
"""Combinations of single values that are enumerated; more of them are put on the grid."""

_MOST_PARTS = 2000
"""Parts that are looked at with three or more classes; what is open by then stays in the interval."""

_ROUNDING = 1e-12
"""What the rounding of a convolution may amount to."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What a perturbation makes of one feature: single values with their probabilities, and a uniform part.

    `values` and `masses` have shape (n,); the uniform part lies between `start` and `end` and has the rest of the mass.
    """

    feature: int
    values: FloatArray
    masses: FloatArray
    start: float = 0.0
    end: float = 0.0

    @property
    def spread(self) -> float:
        """The probability of the uniform part."""
        return max(0.0, 1.0 - float(self.masses.sum())) if self.end > self.start else 0.0

    @property
    def ends(self) -> FloatArray:
        """The values among which are the least and the largest."""
        return np.append(self.values, [self.start, self.end]) if self.end > self.start else self.values


def drawn_features(space: FeatureSpace, x: FloatArray, z: FloatArray, *, closed: bool) -> list[Drawn]:
    """Return the features that a K-perturbation of `z` may change; `closed` adds a category that cannot be drawn."""
    reach = Reach.of(space)
    lowest, highest = (bound[0] for bound in reach.bounds(z[np.newaxis]))
    ends = [perturbed_value(z, share, lowest, highest, space.lower, space.upper) for share in (0.0, 1.0)]
    found = []
    for f in np.flatnonzero(z == x):
        codes = reach.categories[f].astype(np.float64)
        if len(codes):
            values = np.union1d(codes, z[f]) if closed else codes
            found.append(Drawn(int(f), values, np.full(len(values), 1 / len(values))))
        elif not space.is_categorical[f] and highest[f] > lowest[f]:
            start, end, width = float(ends[0][f]), float(ends[1][f]), float(highest[f] - lowest[f])
            # Clipping puts what lies beyond the interval on its ends.
            masses = np.array([start - (z[f] + lowest[f]), (z[f] + highest[f]) - end]) / width
            found.append(Drawn(int(f), np.array([start, end]), np.clip(masses, 0.0, 1.0), start, end))
    return found


def k_certificate(
    structure: LinearStructure, space: FeatureSpace, x: FloatArray, z: FloatArray, target: int
) -> Certificate:
    """Certify or refute that every K-perturbation of `z` has the class `target`.

    The box is closed, and holds the present category, as on forests. If the least lead is so near to 0 that rounding
    decides, the verdict is open and `point` is the row with this lead, for which the model can be queried.

    Parameters
    ----------
    structure : LinearStructure
    space : FeatureSpace
    x, z : ndarray of float64, shape (d,)
        The factual point and its counterfactual.
    target : int
    """
    place = structure.place_of(target)
    if place is None:
        return Certificate(Settled.REFUTED, z.copy(), 1)
    rivals = np.delete(np.arange(len(structure.classes)), place)
    scores = structure.scores(z[np.newaxis])[0]
    least = scores[place] - scores[rivals]
    points = np.tile(z, (len(rivals), 1))
    for drawn in drawn_features(space, x, z, closed=True):
        f = drawn.feature
        parts = structure.parts(f, np.append(drawn.ends, z[f]))
        leads = parts[:, [place]] - parts[:, rivals]
        worst = np.argmin(leads[:-1], axis=0)
        least += leads[worst, np.arange(len(rivals))] - leads[-1]
        points[:, f] = drawn.ends[worst]
    unclear = structure.rounding(np.maximum(np.abs(space.lower), np.abs(space.upper)))
    k = int(np.argmin(least))
    if least[k] > unclear:
        return Certificate(Settled.CERTIFIED, boxes=1)
    return Certificate(Settled.REFUTED if least[k] < -unclear else Settled.OPEN, points[k], 1)


def k_probability(
    structure: LinearStructure,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    *,
    width: float = 0.01,
    seconds: float | None = None,
) -> Interval:
    """Enclose the probability that a uniform K-perturbation of `z` has the class `target`.

    With two classes it is the probability that one sum is positive, whose distribution is bounded on a grid that gets
    finer until the interval is narrow. With more, the target has to lead over each rival: at least 1 less all
    probabilities of losing to one of them, and at most the smallest of leading over one. Where this is too wide, the
    feature with the largest share is cut in two.

    Parameters
    ----------
    structure : LinearStructure
    space : FeatureSpace
    x, z : ndarray of float64, shape (d,)
        The factual point and its counterfactual.
    target : int
    width : float
        At most so wide the interval shall be. A grid of 262,144 steps is the finest.
    seconds : float or None
        Wall-clock limit, after which it is as wide as it is; None: no limit.
    """
    place = structure.place_of(target)
    if place is None:
        return Interval(0.0, 0.0)
    end = np.inf if seconds is None else time.perf_counter() + seconds
    base = z.copy()
    features = drawn_features(space, x, z, closed=False)
    numbers = count()
    lower, upper = _kept(structure, place, base, features, width)
    waiting = [(lower - upper, next(numbers), 1.0, lower, upper, features)]
    while upper - lower > width and time.perf_counter() < end and next(numbers) < _MOST_PARTS:
        _, _, mass, own_lower, own_upper, part = heapq.heappop(waiting)
        halves = _halves(structure, place, part)
        if not halves or len(structure.classes) == 2:
            break
        lower, upper = lower - mass * own_lower, upper - mass * own_upper
        for share, half in halves:
            a, b = _kept(structure, place, base, half, width)
            lower, upper = lower + mass * share * a, upper + mass * share * b
            heapq.heappush(waiting, (-mass * share * (b - a), next(numbers), mass * share, a, b, half))
    return Interval(max(0.0, lower), min(1.0, upper))


def _halves(structure: LinearStructure, place: int, part: list[Drawn]) -> list[tuple[float, list[Drawn]]]:
    """Cut the feature that moves the leads most: a uniform part in the middle, single values from the rest."""
    if not part:
        return []
    moves = []
    for drawn in part:
        parts = structure.parts(drawn.feature, drawn.ends)
        moves.append(float(np.ptp(parts[:, [place]] - parts, axis=0).max()))
    i = int(np.argmax(moves))
    drawn = part[i]
    pieces: list[tuple[float, Drawn]] = []
    single = np.empty(0)
    if drawn.spread > 0:
        middle = (drawn.start + drawn.end) / 2
        pieces += [(drawn.spread / 2, replace(drawn, values=single, masses=single, end=middle))]
        pieces += [(drawn.spread / 2, replace(drawn, values=single, masses=single, start=middle))]
    for value, mass in zip(drawn.values, drawn.masses, strict=True):
        if mass > 0:
            pieces.append((float(mass), Drawn(drawn.feature, np.array([value]), np.ones(1))))
    if len(pieces) < 2:
        return []
    return [(share, [*part[:i], piece, *part[i + 1 :]]) for share, piece in pieces]


def _kept(
    structure: LinearStructure, place: int, z: FloatArray, part: list[Drawn], width: float
) -> tuple[float, float]:
    """Bound the probability that the target leads over all rivals."""
    rivals = [k for k in range(len(structure.classes)) if k != place]
    bounds = [_leads(structure, place, k, z, part, width / (2 * len(rivals))) for k in rivals]
    return max(0.0, 1 - sum(1 - low for low, _ in bounds)), min(high for _, high in bounds)


def _leads(
    structure: LinearStructure, place: int, rival: int, z: FloatArray, part: list[Drawn], width: float
) -> tuple[float, float]:
    """Bound the probability that the target leads over one rival."""
    scores = structure.scores(z[np.newaxis])[0]
    lead = float(scores[place] - scores[rival])
    moves: list[Drawn] = []  # in units of the lead, in place of the feature's values
    for drawn in part:
        f = drawn.feature
        at = np.array([z[f], drawn.start, drawn.end, *drawn.values])
        parts = structure.parts(f, at)
        gains = (parts[:, place] - parts[:, rival])[1:] - (parts[0, place] - parts[0, rival])
        start, end = sorted(gains[:2].tolist())
        if drawn.spread == 0 or end == start:  # a uniform part without an effect is a single value
            values = np.append(gains[2:], start) if drawn.spread else gains[2:]
            masses = np.append(drawn.masses, drawn.spread) if drawn.spread else drawn.masses
            if np.ptp(values) == 0:
                lead += float(values[0])
                continue
            moves.append(Drawn(f, values, masses))
        else:
            moves.append(Drawn(f, gains[2:], drawn.masses, start, end))
    least = lead + sum(float(one.ends.min()) for one in moves)
    most = lead + sum(float(one.ends.max()) for one in moves)
    if least > 0 or most <= 0:
        return (1.0, 1.0) if least > 0 else (0.0, 0.0)
    steps = _FIRST
    while True:
        low, high = _positive(lead, moves, steps)
        if high - low <= width or steps >= _LAST:
            return low, high
        steps *= 4


def _positive(lead: float, moves: list[Drawn], steps: int) -> tuple[float, float]:
    """Bound the probability that `lead` plus independent moves is positive, on a grid with so many steps.

    Each move is rounded down to the grid, so the sum of n moves is at most n steps too small. The widest uniform part
    is not rounded, and neither are single values if they have few combinations.
    """
    widest = max(range(len(moves)), key=lambda i: moves[i].end - moves[i].start)
    exact = moves[widest] if moves[widest].spread > 0 else None
    others = [one for one in moves if one is not exact]
    singles = [one for one in others if one.spread == 0]
    if np.prod([float(len(one.values)) for one in singles]) > _MOST_ATOMS:
        singles = []
    gridded = [one for one in others if one not in singles]
    offsets = np.zeros(1)
    masses = np.ones(1)
    for one in singles:
        offsets = (offsets[:, np.newaxis] + one.values).ravel()
        masses = (masses[:, np.newaxis] * one.masses).ravel()
    step = sum(float(np.ptp(one.ends)) for one in gridded) / steps
    sums, low = np.ones(1), lead
    if gridded and step > 0:
        size = 2 ** int(np.ceil(np.log2(steps + 2 * len(gridded) + 2)))
        transformed = np.ones(size // 2 + 1, dtype=np.complex128)
        for one in gridded:
            start = float(one.ends.min())
            transformed *= np.fft.rfft(_on_grid(one, start, step), size)
            low += start
        sums = np.maximum(np.fft.irfft(transformed, size), 0.0)
    places = low + step * np.arange(len(sums))
    bounds = []
    for shift in (0.0, step * len(gridded)):
        total = 0.0
        for offset, mass in zip(offsets, masses, strict=True):
            total += mass * float(sums @ _above(exact, -(places + shift + offset)))
        bounds.append(total)
    slack = _ROUNDING if gridded else 0.0
    return max(0.0, bounds[0] - slack), min(1.0, bounds[1] + slack)


def _on_grid(one: Drawn, start: float, step: float) -> FloatArray:
    """Return the probabilities of a move's values rounded down to a grid that begins at `start`."""
    n = int(np.ceil((float(one.ends.max()) - start) / step)) + 1
    masses = np.zeros(n + 1)
    places = np.floor((one.values - start) / step + 0.0).astype(np.int64)
    np.add.at(masses, places, one.masses)
    if one.spread > 0:
        edges = start + step * np.arange(n + 2)
        below = np.clip((edges - one.start) / (one.end - one.start), 0.0, 1.0)
        masses += one.spread * np.diff(below)
    return masses


def _above(one: Drawn | None, limits: FloatArray) -> FloatArray:
    """Return the probabilities that a move is above limits, shape (n,); without a move, whether 0 is."""
    if one is None:
        return (limits < 0).astype(np.float64)
    share = np.clip((one.end - limits) / (one.end - one.start), 0.0, 1.0)
    found: FloatArray = one.spread * share
    for value, mass in zip(one.values, one.masses, strict=True):
        found = found + mass * (value > limits)
    return found
