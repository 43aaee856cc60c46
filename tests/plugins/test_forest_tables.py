"""Forests laid flat and laid open: worked out by hand, and compared with scikit-learn next to each threshold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.errors import UnavailableError
from cfbench.forests import forest_of
from cfbench.models import fit_encoding
from cfbench.space import FloatArray, IntArray
from cfbench_models.forest.family import RandomForest
from cfbench_models.forest.laid_open import last_single_up_to
from cfbench_models.forest.tables import ForestTables, forest_tables

LETTERS = ("a", "b", "c", "d")
SPACE = FeatureSpace(
    (FeatureSpec("unused", Kind.NUMERICAL, 0, 1), FeatureSpec("letter", Kind.CATEGORICAL, 0, 3, LETTERS))
)


def one_tree(X: FloatArray, y: IntArray, space: FeatureSpace) -> RandomForestClassifier:
    encoding = fit_encoding(X, space, standardise=False)
    return RandomForestClassifier(1, bootstrap=False, max_features=None, random_state=0).fit(encoding.transform(X), y)


def tables(X: FloatArray, y: IntArray, space: FeatureSpace) -> ForestTables:
    return forest_tables(one_tree(X, y, space), fit_encoding(X, space, standardise=False))


def fields(node: np.uint64) -> tuple[int, bool, bool, int]:
    """Left child, whether walks go on to a leaf on the right, whether they go on to one on the left, slot.

    The nodes looked at have no splits for children.
    """
    bits = int(node)
    assert bits >> 30 & 3 == 0
    return bits >> 32, bool(bits >> 29 & 1), bool(bits >> 28 & 1), bits & (2**28 - 1)


def test_children_that_are_splits_and_leaves_are_marked_apart() -> None:
    space = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 10),))
    # Up to 3 the second class, up to 5 the first one, above the second one again.
    packed = tables(np.array([[1.0], [2.0], [4.0], [6.0], [7.0], [8.0]]), np.array([1, 1, 0, 1, 1, 1]), space)
    root, *others = (int(node) for node in packed.nodes)
    # The first split is at 5: the left child is a split, the right one a leaf that matters.
    assert (root >> 32, root >> 28 & 15) == (1, 0b0110)
    assert (others[0] >> 32, others[0] >> 28 & 15) == (3, 0b0001)  # its right leaf is of the first class alone
    assert [node >> 28 & 15 for node in others[1:]] == [0, 0, 0]


def test_a_stump_on_a_number() -> None:
    space = FeatureSpace((FeatureSpec("size", Kind.NUMERICAL, 0, 10),))
    stump = tables(np.array([[1.0], [2.0], [6.0]]), np.array([0, 0, 1]), space)
    root, first, second = map(fields, stump.nodes)
    assert root == (1, True, False, 0)  # the left leaf is of the first class alone: walks end before it
    assert first == (1, False, False, 2)
    assert second == (0, False, False, 2)
    assert stump.shares.tolist() == [[0, 1], [1, 0]]
    assert stump.clear == 0
    assert stump.thresholds.tolist() == [4, 0]
    assert stump.first_slot.tolist() == [0, 2]
    assert stump.first_leaf.tolist() == stump.roots.tolist() == [0]


def test_a_stump_on_a_category() -> None:
    X = np.array([[0.5, 0], [0.5, 2], [0.5, 3], [0.5, 2]])  # no b
    stump = tables(X, np.array([1, 0, 1, 0]), SPACE)
    assert stump.features.tolist() == [1]
    assert stump.is_coded.tolist() == [True]
    assert stump.first_slot.tolist() == [0, 4]  # three indicator columns and the spare slot
    assert stump.cell_of_code.tolist() == [0, 3, 1, 2, 3]  # the last one is for what is no code
    assert fields(stump.nodes[0]) == (1, False, True, 1)  # rows with a c go right, to the first class
    assert stump.weights.tolist() == [1.0]


def test_shares_that_are_no_short_binary_fractions_are_not_exact() -> None:
    X = np.column_stack([np.full(3, 0.5), np.full(3, 2.0)])
    assert tables(X, np.array([0, 1, 1]), SPACE).clear > 0
    assert tables(np.repeat(X, 2, axis=0)[:4], np.array([0, 1, 1, 1]), SPACE).clear == 0


def test_a_split_of_an_indicator_beyond_its_values_is_refused() -> None:
    X = np.array([[0.5, 0], [0.5, 2], [0.5, 3], [0.5, 2]])
    forest = one_tree(X, np.array([1, 0, 1, 0]), SPACE)
    encoding = fit_encoding(X, SPACE, standardise=False)
    forest.estimators_[0].tree_.threshold[0] = 1.5
    with pytest.raises(UnavailableError, match="a split of an indicator column does not lie between 0 and 1"):
        forest_tables(forest, encoding)


def test_a_split_for_nothing_is_refused() -> None:
    X = np.array([[0.5, 0], [0.5, 2], [0.5, 3], [0.5, 2]])
    forest = one_tree(X, np.array([1, 0, 1, 0]), SPACE)
    encoding = fit_encoding(X, SPACE, standardise=False)
    forest.estimators_[0].tree_.value[:, 0] = [1, 0]
    with pytest.raises(UnavailableError, match="a split has two leaves of the first class alone"):
        forest_tables(forest, encoding)


HOMES = FeatureSpace(
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
    model = RandomForest().fit(X, y, HOMES, {"n_estimators": 4})
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
    ends = last_single_up_to(thresholds)
    assert (ends.astype(np.float32) <= thresholds).all()
    assert (np.nextafter(ends, np.inf).astype(np.float32) > thresholds).all()
