"""Certified K-robustness: does any perturbation of the kept features cost the class?

Branch and bound. The votes of all points of a box lie between two sums (:func:`cfbench.forests.walks.vote_range`).
Where the class leads by them, it holds on the whole box; else a few points are tried, and the box is cut in two where
the trees disagree most.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cfbench.forests.boxes import Box, KBox
from cfbench.forests.parting import warm_up
from cfbench.forests.structure import ForestStructure
from cfbench.space.space import FeatureSpace, FloatArray, IntArray


class Settled(StrEnum):
    """What is known about a counterfactual's class within the closed box of its K-perturbations."""

    CERTIFIED = "certified"
    """No point of the box has another class."""
    REFUTED = "refuted"
    """A point of the box has another class."""
    OPEN = "open"
    """The limit came first."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """The answer about one counterfactual.

    Parameters
    ----------
    verdict : Settled
    point : ndarray of float64, shape (d,), or None
        Where refuted: a perturbed counterfactual of another class, by the forest's structure.
    boxes : int
        How many parts were looked at.
    """

    verdict: Settled
    point: FloatArray | None = None
    boxes: int = 0


def k_certificate(
    structure: ForestStructure,
    space: FeatureSpace,
    x: FloatArray,
    z: FloatArray,
    target: int,
    *,
    seconds: float = 1.0,
) -> Certificate:
    """Certify or refute that every K-perturbation of `z` has the class `target`.

    The box is closed: one that touches a boundary with its corner alone is refuted by a set of probability 0, so read
    :func:`cfbench.forests.probability.k_probability` too.

    Parameters
    ----------
    structure : ForestStructure
    space : FeatureSpace
    x, z : ndarray of float64, shape (d,)
        The factual point and its counterfactual.
    target : int
    seconds : float
        Wall-clock limit.

    References
    ----------
    Land and Doig, "An automatic method of solving discrete programming problems", Econometrica 28(3), 1960, for branch
    and bound. Bounding each tree by the leaves that a box reaches: Törnblom and Nadjm-Tehrani, "Formal verification of
    input-output mappings of tree ensembles", Science of Computer Programming 194, 2020.
    """
    place = structure.place_of(target)
    warm_up()
    box = KBox.of(structure, space, x, z)
    if place is None:
        return Certificate(Settled.REFUTED, z.copy())
    unclear, end = structure.rounding, time.perf_counter() + seconds
    waiting, boxes = [box.whole], 0
    while waiting:
        if boxes and time.perf_counter() > end:
            return Certificate(Settled.OPEN, boxes=boxes)
        part, boxes = waiting.pop(), boxes + 1
        votes, part = box.votes(part, place)
        if (votes.least > unclear).all():
            continue
        cells = _probes(box, part)
        lost = np.flatnonzero(structure.predict_cells(cells) != target)
        if len(lost):
            return Certificate(Settled.REFUTED, box.point(cells[lost[0]]), boxes)
        if votes.pull.any():  # otherwise all its points have the leaves of the probes
            waiting += [half for half, _ in box.cut(part, votes.pull, votes.place)]
    return Certificate(Settled.CERTIFIED, boxes=boxes)


def _probes(box: KBox, part: Box) -> IntArray:
    """Return some points of a part by their cells, shape (3, d): two corners, and one in between."""
    middle = (part.low + part.high) // 2
    first = box.structure.first_cell[:-1]
    # Categories have no middle, and a cell between two codes may hold none.
    middle = np.where(part.allowed[first + middle], middle, part.low)
    return np.array([part.low, part.high, middle])
