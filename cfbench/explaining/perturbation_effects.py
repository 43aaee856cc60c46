"""What perturbations do to one counterfactual: its worst setback, what it survives, which kept features it depends on.

Definitions as in Virgolin and Fracaros, "On the robustness of sparse counterfactual explanations to adverse
perturbations", section "Perturbations & robustness". C are the features that the counterfactual changes, K those that
it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np

from cfbench.errors import UnavailableError
from cfbench.forests.certificate import Settled
from cfbench.forests.structure import ShowsForest
from cfbench.linear.either import certificate_of, structure_of
from cfbench.robustness.neighbours import KNeighbours
from cfbench.robustness.random_perturbations import PerturbedPart, RandomPerturbations
from cfbench.robustness.reach import Distribution, Reach
from cfbench.robustness.setbacks import Setbacks
from cfbench.space.space import BoolArray, FeatureSpace, FeatureSpec, FloatArray, IntArray
from cfbench.text import distinct_texts

Predict = Callable[[FloatArray], IntArray]
"""Rows of shape (n, d) in, class codes of shape (n,) out."""

DRAWS = 1000
"""Number of random perturbations per share, as for the ground truth of the paper's K-score."""

MOST_WAYS = 1000
"""Maximum number of combinations of changed categories; with more, the worst setback has a price and no class."""

SECONDS = 2.0
"""Time for a proof that no perturbation of kept features undoes a counterfactual."""


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
class FeatureEffect:
    """How often the class changes when one kept feature alone is perturbed at random."""

    feature: int
    lost: int
    n: int


@dataclass(frozen=True, eq=False)
class PerturbationEffects:
    """What perturbations do to a counterfactual."""

    setback: Setback | None  # None if no changed feature can be set back
    survivals: tuple[Survival, ...]  # uniform draws, for the parts that can be perturbed
    kept: tuple[FeatureEffect, ...]  # every kept feature that can be perturbed, the most class changes first
    certain: tuple[str, ...]  # sentences that hold for every annotated perturbation


def perturbation_effects(
    x: FloatArray,
    z: FloatArray,
    space: FeatureSpace,
    target: int,
    predict: Predict,
    stream: int,
    draws: int = DRAWS,
    model: object | None = None,
) -> PerturbationEffects:
    """Return what the annotated perturbations do to the counterfactual `z` of `x`, which has class `target`.

    `stream` is the 64-bit key of the draws. A model that shows its trees or weights can prove more than draws show;
    without `model` nothing is said of that.
    """
    changed = z != x
    movable = _movable(x, z, space)
    moved, kept = movable & changed, movable & ~changed
    parts = {PerturbedPart.C: moved.any(), PerturbedPart.K: kept.any(), PerturbedPart.BOTH: moved.any() and kept.any()}
    random = RandomPerturbations(space, x, stream, Distribution.UNIFORM)
    survivals = tuple(
        Survival(part, int(np.sum(predict(random.draw(z, part, draws)) == target)), draws)
        for part, movable_at_all in parts.items()
        if movable_at_all
    )
    setback = _worst_setback(x, z, space, target, predict) if moved.any() else None
    effects: list[FeatureEffect] = []
    if kept.any():
        features = np.flatnonzero(kept)
        drawn = KNeighbours(space, x, stream, draws).draw(z[np.newaxis])[0]
        rows = np.tile(z, (len(features), draws, 1))
        for place, i in enumerate(features):
            rows[place, :, i] = drawn[:, i]
        lost = (predict(rows.reshape(-1, space.d)) != target).reshape(len(features), draws).sum(axis=1)
        effects = [FeatureEffect(int(i), int(times), draws) for i, times in zip(features, lost, strict=True)]
        effects.sort(key=lambda effect: -effect.lost)
    certain = []
    if not movable.any():
        certain.append("No feature has an annotated perturbation, so nothing can happen to this counterfactual.")
    elif setback is None:
        certain.append("Nothing that changes can be set back.")
    elif not kept.any():
        certain.append("Nothing that is kept can be perturbed.")
    if model is not None and kept.any():
        certain += proven_of_kept(model, space, x, z, target, predict)
    return PerturbationEffects(setback, survivals, tuple(effects), tuple(certain))


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


def _worst_setback(x: FloatArray, z: FloatArray, space: FeatureSpace, target: int, predict: Predict) -> Setback:
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


def proven_of_kept(
    model: object, space: FeatureSpace, x: FloatArray, z: FloatArray, target: int, predict: Predict
) -> tuple[str, ...]:
    """Return a sentence: can any perturbation of kept features undo the counterfactual, or why is that unknown?

    The sentence is left out if the model itself does not confirm the point that refutes the class.
    """
    try:
        structure = structure_of(model)
    except UnavailableError as error:
        reason = error if isinstance(model, ShowsForest) else "the model shows neither its trees nor its weights"
        return (f"Not proven for all perturbations of what you keep: {reason}.",)
    certificate = certificate_of(structure, space, x, z, target, seconds=SECONDS)
    proven = ("Proven: no perturbation of what you keep can undo this.",)
    if certificate.verdict is Settled.CERTIFIED:
        return proven
    point = certificate.point
    if point is None:
        return (f"Whether any perturbation of what you keep can undo this was not decided within {SECONDS:g} s.",)
    if predict(point[np.newaxis])[0] == target:
        # If rounding decides on a linear model, it does at this point. Otherwise the structure is not the model's.
        return proven if certificate.verdict is Settled.OPEN else ()
    moved = []
    for i in np.flatnonzero(point != z).tolist():
        feature = space.features[i]
        _, after = written(feature, z[i], point[i])
        moved.append(f"{feature.name} {after} {feature.unit}".rstrip())
    return (f"A perturbation of what you keep can undo this; this one would: {', '.join(moved)}.",)


def written(feature: FeatureSpec, *values: float) -> tuple[str, ...]:
    """Return values of a feature as texts that differ if the values do: numbers, or labels of categories."""
    shown = [feature.shown(value) for value in values]
    numbers = [value for value in shown if not isinstance(value, str)]
    return distinct_texts(*numbers) if len(numbers) == len(shown) else tuple(map(str, shown))
