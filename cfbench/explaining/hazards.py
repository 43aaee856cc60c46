"""What perturbations can do to one counterfactual: its worst setback, what it survives, what threatens it most.

Definitions as in Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse
perturbations", section "Perturbations & robustness". C are the features that the counterfactual changes, K those that
it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from cfbench.robustness.neighbours import KNeighbours
from cfbench.robustness.random_perturbations import PerturbedPart, RandomPerturbations
from cfbench.robustness.reach import Distribution, Reach
from cfbench.robustness.setbacks import Setbacks
from cfbench.space.space import BoolArray, FeatureSpace, FloatArray, IntArray

DRAWS = 1000
"""Number of random perturbations per share, as for the ground truth of the paper's K-score."""

MOST_WAYS = 1000
"""Maximum number of combinations of changed categories; with more, the worst setback has a price and no class."""


@dataclass(frozen=True, eq=False)
class Setback:
    """The maximal C-setback: every changed feature moves back towards `x` as far as its perturbation allows."""

    moved: FloatArray  # change of the changed numerical features, shape (d,); 0 elsewhere
    turned: tuple[int, ...]  # changed categorical features that turn into another category
    price: float  # added cost of repeating the change: (1/2) (1/d) sum_C |w_i| / range_i, a mismatch for categories
    undone: int  # of the `ways` in which categories may turn, how many lose the class
    ways: int  # 0 if there are too many to examine


@dataclass(frozen=True)
class Survival:
    """How often the counterfactual keeps its class when a part of its features is perturbed at random."""

    part: PerturbedPart
    survived: int
    n: int


@dataclass(frozen=True)
class Threat:
    """How often the class changes when one kept feature alone is perturbed at random."""

    feature: int
    lost: int
    n: int


@dataclass(frozen=True, eq=False)
class Hazards:
    """What perturbations can do to a counterfactual."""

    setback: Setback | None  # None if no changed feature can be set back
    survivals: tuple[Survival, ...]  # uniform draws, for the parts that can be perturbed
    threats: tuple[Threat, ...]  # every kept feature that can be perturbed, the most class changes first
    certain: tuple[str, ...]  # sentences that hold for every annotated perturbation


def hazards_of(
    x: FloatArray,
    z: FloatArray,
    space: FeatureSpace,
    target: int,
    predict: Callable[[FloatArray], IntArray],
    stream: int,
    draws: int = DRAWS,
) -> Hazards:
    """Return what the annotated perturbations can do to a counterfactual."""
    changed = z != x
    movable = _movable(x, z, space)
    parts = {
        PerturbedPart.C: movable & changed,
        PerturbedPart.K: movable & ~changed,
        PerturbedPart.BOTH: movable if (movable & changed).any() and (movable & ~changed).any() else np.False_,
    }
    random = RandomPerturbations(space, x, stream, Distribution.UNIFORM)
    survivals = tuple(
        Survival(part, int(np.sum(predict(random.draw(z, part, draws)) == target)), draws)
        for part, features in parts.items()
        if np.any(features)
    )
    setback = _worst_setback(x, z, space, target, predict) if (movable & changed).any() else None
    threats = _threats(x, z, space, np.flatnonzero(movable & ~changed), target, predict, stream, draws)
    return Hazards(setback, survivals, threats, _certain(setback, movable, changed))


def _movable(x: FloatArray, z: FloatArray, space: FeatureSpace) -> BoolArray:
    """Return which features of `z` can be perturbed to another value, shape (d,)."""
    reach, row = Reach.of(space), z[np.newaxis]
    lowest, highest = (bound[0] for bound in reach.bounds(row))
    kept = ((lowest < 0) & (z > space.lower)) | ((highest > 0) & (z < space.upper))
    for i, codes in enumerate(reach.categories):
        if len(codes):
            kept[i] = bool(np.any(codes != z[i]))
    setbacks = Setbacks(space, x)
    set_back = (setbacks.largest(row)[0] != 0) | setbacks.turned(row)[0]
    movable: BoolArray = np.where(z != x, set_back, kept)
    return movable


def _worst_setback(
    x: FloatArray, z: FloatArray, space: FeatureSpace, target: int, predict: Callable[[FloatArray], IntArray]
) -> Setback:
    setbacks, row = Setbacks(space, x), z[np.newaxis]
    moved = setbacks.largest(row)[0]
    turned = np.flatnonzero(setbacks.turned(row)[0])
    codes = [[code for code in Reach.of(space).categories[i] if code != z[i]] for i in turned]
    rows = np.empty((0, space.d))
    if np.prod([float(len(each)) for each in codes]) <= MOST_WAYS:
        # The bounds catch what rounding would carry past x.
        back = np.clip(z + moved, np.minimum(z, x), np.maximum(z, x))
        ways = list(product(*codes))
        rows = np.tile(back, (len(ways), 1))
        rows[:, turned] = np.array(ways, dtype=np.float64).reshape(len(ways), len(turned))
    undone = int(np.sum(predict(rows) != target)) if len(rows) else 0
    price = 0.5 * float(setbacks.detour(row)[0])
    return Setback(moved, tuple(int(i) for i in turned), price, undone, len(rows))


def _threats(
    x: FloatArray,
    z: FloatArray,
    space: FeatureSpace,
    features: IntArray,
    target: int,
    predict: Callable[[FloatArray], IntArray],
    stream: int,
    draws: int,
) -> tuple[Threat, ...]:
    if len(features) == 0:
        return ()
    drawn = KNeighbours(space, x, stream, draws).draw(z[np.newaxis])[0]
    rows = np.tile(z, (len(features), draws, 1))
    for place, i in enumerate(features):
        rows[place, :, i] = drawn[:, i]
    lost = (predict(rows.reshape(-1, space.d)) != target).reshape(len(features), draws).sum(axis=1)
    threats = [Threat(int(i), int(times), draws) for i, times in zip(features, lost, strict=True)]
    return tuple(sorted(threats, key=lambda threat: -threat.lost))


def _certain(setback: Setback | None, movable: BoolArray, changed: BoolArray) -> tuple[str, ...]:
    """Return what follows from the annotation alone."""
    if not movable.any():
        return ("No feature has an annotated perturbation, so nothing can happen to this counterfactual.",)
    said = []
    if setback is None:
        said.append("Nothing that changes can be set back.")
    if not (movable & ~changed).any():
        said.append("Nothing that is kept can be perturbed.")
    return tuple(said)
