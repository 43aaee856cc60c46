"""The random forest laid open: the same classes as scikit-learn's, to the last bit on both sides of each threshold."""

from __future__ import annotations

import numpy as np

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.forests import forest_of
from cfbench_models.forest.family import RandomForest, last_left

SPACE = FeatureSpace(
    (
        FeatureSpec("size", Kind.NUMERICAL, 0, 1),
        FeatureSpec("letter", Kind.CATEGORICAL, 0, 4, ("a", "b", "c", "d", "e")),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 1, ("rent", "own")),
    )
)


def test_classes_are_scikit_learns_beside_every_boundary() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(90), rng.integers(0, 4, 90), rng.integers(0, 2, 90)])  # no e
    y = ((X[:, 0] > 0.4) ^ (X[:, 1] == 2)).astype(np.int64) + (X[:, 2] == 1)
    model = RandomForest().fit(X, y, SPACE, {"n_estimators": 4})
    structure = forest_of(model)
    assert structure is forest_of(model)
    assert structure.is_coded.tolist() == [False, True, False]
    assert structure.n_cells[1] == 5
    assert structure.cell_of_code[1].tolist() == [0, 1, 2, 3, 4]
    ends = structure.boundaries[0]
    sizes = np.unique(np.concatenate([[0.0, 1.0], ends, np.nextafter(ends, 2), np.nextafter(ends, -1)]))
    Z = np.array([[size, letter, home] for size in sizes for letter in range(5) for home in (0, 1)])
    cells = structure.cells(Z)
    assert (structure.predict_cells(cells) == model.predict(Z)).all()
    # Neighbouring numbers of different cells are as close as numbers can be.
    assert (structure.cells(np.column_stack([ends, 0 * ends, 0 * ends]))[:, 0] == np.arange(len(ends))).all()


def test_the_last_number_that_goes_left() -> None:
    thresholds = np.array([0.1, 0.5, 1.0, 3.25], dtype=np.float32)
    ends = last_left(thresholds)
    assert (ends.astype(np.float32) <= thresholds).all()
    assert (np.nextafter(ends, np.inf).astype(np.float32) > thresholds).all()
