"""Probabilities of boxes with several features beyond the sheet, against all cells looked at one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.forests import ForestStructure, forest_of, k_probability
from cfbench.forests.boxes import KBox
from cfbench.forests.parting import Parting
from cfbench_models.forest.family import RandomForest

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


def test_halves_make_up_what_they_are_cut_from() -> None:
    _, box, place = drawn(3, 2)
    parting = Parting(box, place)
    whole = parting.whole()
    halves = parting.halves(whole)
    assert whole.size == pytest.approx(1)
    of_open = whole.size - whole.kept - whole.lost + whole.open_kept + whole.open_lost
    assert len(halves) == 2
    # A half is the open rectangle of the sheet, whose settled cells are in it as well.
    assert sum(half.size for half in halves) == pytest.approx(of_open)
    assert sum(half.kept for half in halves) >= whole.open_kept - 1e-12
    assert sum(half.lost for half in halves) >= whole.open_lost - 1e-12
