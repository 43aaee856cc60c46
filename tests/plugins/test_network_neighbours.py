"""K-neighbours by the network's oracle: the classes that their rows have, drawn and asked one by one."""

from __future__ import annotations

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec
from cfbench.robustness import Distribution, KNeighbours
from cfbench.space import FloatArray
from cfbench_models.network.inputs import ForwardPass
from cfbench_models.network.neighbours import CANDIDATES, NeighbourBox
from cfbench_models.network.oracle import NetworkOracle
from tests.plugins.fitted_networks import (
    SPACE,
    classes_of_all,
    classes_one_by_one,
    each_number_of_classes,
    fitted,
    on_the_boundary,
    rows,
)


def candidates(x: FloatArray, n: int, seed: int) -> FloatArray:
    """Return points that keep about half of the features of `x`."""
    Z = rows(n, seed)
    return np.where(np.random.default_rng(seed).random(Z.shape) < 0.5, x, Z)


@pytest.mark.parametrize("distribution", list(Distribution))
@pytest.mark.parametrize("m", [0, 1, 64, 130])
@each_number_of_classes
def test_neighbours_have_the_classes_of_their_rows(classes: int, m: int, distribution: Distribution) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    x = rows(1, seed=11)[0]
    Z = candidates(x, CANDIDATES + 20, seed=12)
    neighbours = KNeighbours(SPACE, x, 5, m, distribution, first_evaluation=3)
    drawn = neighbours.draw(Z)
    expected = classes_of_all(model, drawn.reshape(-1, SPACE.d)).reshape(len(Z), m) if m else np.empty((len(Z), 0))
    np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


@each_number_of_classes
def test_neighbours_do_not_hang_on_the_candidates_beside_theirs(classes: int) -> None:
    oracle = NetworkOracle(fitted(classes))
    x = rows(1, seed=13)[0]
    Z = candidates(x, 40, seed=14)
    neighbours = KNeighbours(SPACE, x, 6, 16)
    together = oracle.predict_neighbours(Z, neighbours)
    alone = [oracle.predict_neighbours(z[np.newaxis], neighbours.starting(i))[0] for i, z in enumerate(Z)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.slow
@each_number_of_classes
def test_neighbours_of_candidates_on_the_boundary(classes: int) -> None:
    model = fitted(classes)
    Z = on_the_boundary(classes)
    oracle = NetworkOracle(model)
    for x in (Z[0] + 1, Z[0]):  # nothing is kept, nearly everything is
        neighbours = KNeighbours(SPACE, x, 7, 8)
        expected = classes_one_by_one(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 8)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


def test_neighbours_that_are_drawn_in_another_way_are_drawn_in_that_way() -> None:
    class Doubled(KNeighbours):
        def draw(self, Z: FloatArray, first: int = 0) -> FloatArray:
            return super().draw(Z, first) * np.where(SPACE.is_categorical, 1, 2)

    model = fitted(2)
    x = rows(1, seed=20)[0]
    Z = candidates(x, 30, seed=21)
    neighbours = Doubled(SPACE, x, 1, 4)
    expected = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 4)
    np.testing.assert_array_equal(NetworkOracle(model).predict_neighbours(Z, neighbours), expected)


def test_searches_take_turns() -> None:
    model = fitted(2)
    oracle = NetworkOracle(model)
    first, second = rows(2, seed=15)
    for x, m in ((first, 4), (second, 4), (first, 6), (first, 4)):
        Z = candidates(x, 30, seed=16)
        neighbours = KNeighbours(SPACE, x, 8, m)
        expected = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, m)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


@each_number_of_classes
def test_a_box_is_settled_only_if_all_neighbours_are_of_one_class(classes: int) -> None:
    model = fitted(classes)
    x = rows(1, seed=17)[0]
    Z = candidates(x, 400, seed=18)
    neighbours = KNeighbours(SPACE, x, 9, 500)
    box = NeighbourBox(ForwardPass(model.encoding, model.classifier, np.float32), neighbours)
    winners, settled = box.answer(Z)
    answers = classes_of_all(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(len(Z), -1)
    agree = (answers == answers[:, :1]).all(axis=1)
    assert agree[settled].all()
    np.testing.assert_array_equal(winners[settled], answers[settled, 0])
    assert settled.sum() > 0.5 * agree.sum()  # and the bounds are worth their while


def test_where_nothing_is_perturbed_neighbours_are_the_candidate() -> None:
    still = FeatureSpace(tuple(FeatureSpec(f.name, f.kind, f.lower, f.upper, f.categories) for f in SPACE.features))
    model = fitted(2)
    Z = np.concatenate([rows(30, seed=19), on_the_boundary(2)])
    answers = NetworkOracle(model).predict_neighbours(Z, KNeighbours(still, Z[0], 1, 3))
    np.testing.assert_array_equal(answers, np.repeat(classes_one_by_one(model, Z)[:, np.newaxis], 3, axis=1))
