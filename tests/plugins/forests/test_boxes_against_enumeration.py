"""Certificates and probabilities of K-perturbations against full enumeration, classes asked of scikit-learn alone."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.forests import ForestStructure, Settled, forest_of, k_certificate, k_probability
from cfbench.forests.boxes import KBox
from cfbench.forests.parting import Parting
from cfbench.space import FloatArray
from cfbench_models.forest.family import RandomForest
from tests.plugins.drawn_forests import Drawn, draw_forest


def bounds(drawn: Drawn, i: int, value: float) -> tuple[float, float]:
    """Return how far feature `i` may be perturbed."""
    feature: Any = drawn.space.features[i]
    scale = abs(value) if feature.perturbation.relative else 1.0
    return value - feature.perturbation.decrease * scale, value + feature.perturbation.increase * scale


def values_of(drawn: Drawn, z: FloatArray, i: int) -> tuple[FloatArray, FloatArray]:
    """Return a value of every piece that thresholds cut the perturbation of feature `i` into, and its probability."""
    feature: Any = drawn.space.features[i]
    value = float(z[i])
    if value != drawn.x[i]:
        return np.array([value]), np.ones(1)
    if feature.n_categories:
        codes = np.array(feature.perturbation.codes, dtype=np.float64)
        known = np.union1d(codes, value)
        return known, np.isin(known, codes) / len(codes)
    start, stop = bounds(drawn, i, value)
    a, b = max(start, feature.lower), min(stop, feature.upper)
    cuts = np.unique(drawn.thresholds(i))
    cuts = cuts[(cuts > a) & (cuts < b)]
    ends = np.concatenate([[a], cuts, [b]])
    if a == b:
        return np.array([a]), np.ones(1)
    shares = np.clip((ends - start) / (stop - start), 0, 1)
    shares[0], shares[-1] = 0, 1  # what is beyond the interval is clipped to its ends
    return (ends[:-1] + ends[1:]) / 2, np.diff(shares)


def enumerated(drawn: Drawn, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a point of every piece of the box, and its probability."""
    pairs = [values_of(drawn, z, i) for i in range(drawn.space.d)]
    Z = np.array(list(product(*(values for values, _ in pairs))))
    weights = np.array(list(product(*(shares for _, shares in pairs)))).prod(axis=1)
    return Z, weights


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boxes_are_what_enumeration_says(n_classes: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(100):
        drawn = draw_forest(seed, n_classes=n_classes)
        rng = np.random.default_rng(seed)
        kept = rng.random(4) < 0.75
        moved = np.array([rng.uniform(0, 10), rng.uniform(-4, 4), rng.integers(0, 4), rng.integers(0, 2)])
        z = np.where(kept, drawn.x, moved)
        structure, target = forest_of(drawn.model), int(drawn.model.predict(z[np.newaxis])[0])
        Z, weights = enumerated(drawn, z)
        holds = drawn.model.predict(Z) == target
        certificate = k_certificate(structure, drawn.space, drawn.x, z, target)
        interval = k_probability(structure, drawn.space, drawn.x, z, target, width=0.0)
        rough = k_probability(structure, drawn.space, drawn.x, z, target, width=0.1)
        truth = float(weights[holds].sum())
        assert interval.lower == pytest.approx(truth, abs=1e-6), seed
        assert interval.width <= 1e-9, seed
        assert rough.lower - 1e-6 <= truth <= rough.upper + 1e-6, seed  # a float32 step beside a threshold
        assert rough.width <= 0.1, seed
        if certificate.verdict is Settled.REFUTED:
            assert certificate.point is not None
            point = certificate.point
            assert drawn.model.predict(point[np.newaxis])[0] != target, seed
            assert ((point == z) | (z == drawn.x)).all(), seed
            for i in (0, 1):
                start, stop = bounds(drawn, i, float(z[i]))
                assert point[i] == z[i] or start - 1e-12 <= point[i] <= stop + 1e-12, seed
        else:
            assert certificate.verdict is Settled.CERTIFIED, seed
            assert holds.all(), seed
        # Enumeration looks inside each piece; only a corner of the closed box may say otherwise.
        seen[certificate.verdict] += 1
        seen["at a corner"] += bool(holds.all()) and certificate.verdict is Settled.REFUTED
    assert seen["certified"] > 10, seen
    assert seen["refuted"] > 10, seen
    assert seen["at a corner"] <= 2, seen


@pytest.mark.slow
def test_a_limit_leaves_it_open() -> None:
    opened = 0
    for seed in range(40):
        drawn = draw_forest(seed)
        structure, target = forest_of(drawn.model), int(drawn.model.predict(drawn.x[np.newaxis])[0])
        asked = (structure, drawn.space, drawn.x, drawn.x, target)
        certificate = k_certificate(*asked, seconds=0.0)
        opened += certificate.verdict is Settled.OPEN
        assert certificate.boxes == 1
        interval = k_probability(*asked, width=0.0, seconds=0.0)
        exact = k_probability(*asked, width=0.0)
        assert interval.lower - 1e-9 <= exact.middle <= interval.upper + 1e-9
    assert opened > 5


def test_a_class_that_the_forest_never_says_is_never_kept() -> None:
    drawn = draw_forest(1)
    asked = (forest_of(drawn.model), drawn.space, drawn.x, drawn.x, 7)
    assert k_certificate(*asked).verdict is Settled.REFUTED
    assert k_probability(*asked) == (0.0, 0.0)


SPACE = FeatureSpace(
    tuple(FeatureSpec(f"n{i}", Kind.NUMERICAL, 0, 10, perturbation=NumericalPerturbation(3, 2)) for i in range(4))
)


def drawn(seed: int, n_classes: int) -> tuple[ForestStructure, KBox, int]:
    """Return a forest, the box of a point that keeps all its features, and the place of the point's class."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(0, 10, (30, 4)), rng.integers(0, n_classes, 30)
    y[:n_classes] = np.arange(n_classes)
    model = RandomForest().fit(X, y, SPACE, {"n_estimators": 5, "max_depth": 4})
    structure, z = forest_of(model), rng.uniform(0, 10, 4)
    place = structure.place_of(int(model.predict(z[np.newaxis])[0]))
    assert place is not None
    return structure, KBox.of(structure, SPACE, z, z), place


def probability(structure: ForestStructure, box: KBox, place: int) -> float:
    """Add up the probability of all cells that have the class."""
    allowed = [np.flatnonzero(of_feature) for of_feature in np.split(box.whole.allowed, structure.first_cell[1:-1])]
    cells = np.array(list(product(*allowed)), dtype=np.int64)
    mass = box.mass[cells + structure.first_cell[:-1]].prod(axis=1)
    return float(mass[structure.predict_cells(cells) == structure.classes[place]].sum())


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_interval_encloses_what_all_cells_say(n_classes: int) -> None:
    cut = 0
    for seed in range(25):
        structure, box, place = drawn(seed, n_classes)
        truth, target = probability(structure, box, place), int(structure.classes[place])
        exact = k_probability(structure, SPACE, box.z, box.z, target, width=0.0)
        assert exact == pytest.approx((truth, truth), abs=1e-9), seed
        for width in (0.3, 0.05):
            interval = k_probability(structure, SPACE, box.z, box.z, target, width=width)
            assert interval.lower - 1e-9 <= truth <= interval.upper + 1e-9, seed
            assert interval.width <= width, seed
        cut += Parting(box, place).whole().open_box is not None
    assert cut > 15
