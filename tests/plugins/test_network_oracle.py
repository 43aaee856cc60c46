"""The network's oracle: scikit-learn's classes, for every row, beside whatever other rows it is asked."""

from __future__ import annotations

import copy
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from cfbench import (
    CategoricalPerturbation,
    Distribution,
    FeatureSpace,
    FeatureSpec,
    FloatArray,
    IntArray,
    Kind,
    KNeighbours,
    NumericalPerturbation,
    UnavailableError,
)
from cfbench_models.forward_pass import ForwardPass
from cfbench_models.neighbour_box import NeighbourBox
from cfbench_models.network_neighbours import CANDIDATES
from cfbench_models.network_oracle import NetworkOracle
from cfbench_models.neural_network import NetworkModel, NeuralNetwork

JOBS = ("none", "clerk", "nurse", "judge")
SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0, perturbation=NumericalPerturbation(0.1, 0.2, relative=True)),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, JOBS, perturbation=CategoricalPerturbation((0, 2, 3))),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes"), perturbation=CategoricalPerturbation((0, 1))),
        FeatureSpec("days", Kind.NUMERICAL, -50.0, 50.0, perturbation=NumericalPerturbation(0.0, 30.0)),
        FeatureSpec("city", Kind.CATEGORICAL, 0, 2, ("A", "B", "C")),
        FeatureSpec("rooms", Kind.NUMERICAL, 1.0, 9.0),
    )
)
CHOSEN = [(1e-4, 200, "adam"), (0.01, 200, "sgd"), (1e-4, 1000, "adam"), (0.01, 1000, "sgd"), (0.01, 200, "adam")]
"""What tuning chose for the shipped data sets."""

each_number_of_classes = pytest.mark.parametrize("classes", [2, 3])


def rows(n: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(SPACE.lower, SPACE.upper, (n, SPACE.d))
    codes = np.floor(rng.random((n, SPACE.d)) * np.maximum(SPACE.n_categories, 1))
    return np.where(SPACE.is_categorical, codes, numbers)


def fitted(classes: int, *choice: Any) -> NetworkModel:
    """Return a network of the test's own."""
    return copy.deepcopy(_fitted(classes, choice or CHOSEN[-1]))


@cache
def _fitted(classes: int, choice: tuple[Any, ...]) -> NetworkModel:
    X = rows(150, seed=0)
    X[X[:, 4] == 2, 4] = 0  # city C does not occur in training
    score = X[:, 0] / 1000 + (X[:, 1] == 2) + X[:, 3] / 100 + np.random.default_rng(1).normal(0, 0.2, len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    names = ("learning_rate_init", "max_iter", "solver")
    return NeuralNetwork().fit(X, y, SPACE, dict(zip(names, choice, strict=True)))


def asked_together(model: NetworkModel, Z: FloatArray) -> IntArray:
    classes: IntArray = model.classifier.predict(model.encoding.transform(Z))
    return classes


def asked_alone(model: NetworkModel, Z: FloatArray) -> IntArray:
    return np.array([asked_together(model, z[np.newaxis])[0] for z in Z], dtype=np.int64)


@cache
def on_the_boundary(classes: int) -> FloatArray:
    """Return rows around neighbouring floats between which scikit-learn's class changes."""
    model = fitted(classes)
    found: list[FloatArray] = []
    for start, end in rows(80, seed=5).reshape(40, 2, -1):
        near, far = start, np.where(SPACE.is_categorical, start, end)
        class_of_near, class_of_far = asked_alone(model, np.array([near, far]))
        if class_of_near == class_of_far:
            continue
        middle = (near + far) / 2
        while not (np.array_equal(middle, near) or np.array_equal(middle, far)):
            if asked_alone(model, middle[np.newaxis])[0] == class_of_near:
                near = middle
            else:
                far = middle
            middle = (near + far) / 2
        ulps = np.where(SPACE.is_categorical, 0.0, np.spacing(np.abs(near)))
        found += [near + step * ulps for step in range(-4, 5)]
    return np.array(found)


@pytest.mark.parametrize("choice", CHOSEN)
@each_number_of_classes
def test_50_000_rows_have_scikit_learns_classes(choice: tuple[Any, ...], classes: int) -> None:
    model = fitted(classes, *choice)
    Z = rows(50_000, seed=2)
    np.testing.assert_array_equal(NetworkOracle(model).predict(Z), asked_together(model, Z))


@each_number_of_classes
def test_rows_one_by_one_have_the_same_classes(classes: int) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    Z = rows(300, seed=3)
    np.testing.assert_array_equal([oracle.predict(z[np.newaxis])[0] for z in Z], asked_alone(model, Z))


@each_number_of_classes
def test_rows_on_the_boundary_are_answered_as_if_asked_alone(classes: int) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    Z = on_the_boundary(classes)
    alone = asked_alone(model, Z)
    in_doubt = ~ForwardPass(model.encoding, model.classifier, np.float64).answer(Z)[1]
    assert in_doubt.any()
    assert len(np.unique(alone[in_doubt])) > 1
    order = np.random.default_rng(0).permutation(len(Z))
    for ask in (oracle.predict, model.predict):
        np.testing.assert_array_equal(ask(Z), alone)
        np.testing.assert_array_equal(ask(Z[order]), alone[order])
        for size in (1, 2, 7, 64):
            parts = [ask(Z[start : start + size]) for start in range(0, len(Z), size)]
            np.testing.assert_array_equal(np.concatenate(parts), alone)
        np.testing.assert_array_equal(ask(np.concatenate([Z, rows(1000, seed=4)]))[: len(Z)], alone)


@each_number_of_classes
def test_where_all_outputs_are_equal_the_first_class_wins_as_in_scikit_learn(classes: int) -> None:
    model = fitted(classes)
    model.classifier.coefs_[1][:] = 0
    model.classifier.intercepts_[1][:] = 0
    Z = rows(20, seed=6)
    assert not asked_together(model, Z).any()
    assert not NetworkOracle(model).predict(Z).any()
    assert not NetworkOracle(model).predict(Z[:1]).any()


def test_an_output_next_to_zero_counts_as_the_logistic_function_rounds_it() -> None:
    model = fitted(2)
    model.classifier.coefs_[1][:] = 0
    for bias in (1e-17, 1e-16, 2e-16, 3e-16, 1e-15, -1e-17):
        model.classifier.intercepts_[1][:] = bias
        Z = rows(3, seed=6)
        np.testing.assert_array_equal(NetworkOracle(model).predict(Z), asked_together(model, Z))


@each_number_of_classes
def test_values_that_are_no_categories_or_beyond_all_measure_are_answered_in_silence(classes: int) -> None:
    model = fitted(classes)
    Z = rows(64, seed=7)
    Z[:16, 1] = [-1, 0.5, 4, 1e300] * 4
    Z[16:32, 4] = [2, 1.5, -0.0, 7] * 4
    Z[32:48, 0] = [sign * size for size in (1e20, 1e33, 1e38, 3e38, 1e39, 1e150, 1e300, 1e308) for sign in (1, -1)]
    Z[48:, 3] = [1e-320, -1e-310, 1e-40, 1e5] * 4
    expected = asked_alone(model, Z)
    oracle = NetworkOracle(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(oracle.predict(Z), expected)
        np.testing.assert_array_equal([oracle.predict(z[np.newaxis])[0] for z in Z], expected)


def test_a_question_without_rows_has_an_answer_without_rows() -> None:
    oracle = NetworkOracle(fitted(2))
    none = np.empty((0, SPACE.d))
    assert oracle.predict(none).shape == (0,)
    assert oracle.predict_neighbours(none, KNeighbours(SPACE, rows(1, seed=0)[0], 1, 5)).shape == (0, 5)


def test_answers_are_the_askers_own() -> None:
    oracle = NetworkOracle(fitted(2))
    Z = rows(2000, seed=8)
    before = Z.copy()
    first = oracle.predict(Z)
    oracle.predict(Z[:1])[0] = 77
    np.testing.assert_array_equal(oracle.predict(Z), first)
    np.testing.assert_array_equal(Z, before)


@each_number_of_classes
def test_probabilities_are_scikit_learns(classes: int) -> None:
    model = fitted(classes)
    Z = rows(50, seed=9)
    expected = model.classifier.predict_proba(model.encoding.transform(Z))
    np.testing.assert_array_equal(NetworkOracle(model).predict_proba(Z), expected)


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@each_number_of_classes
def test_no_output_is_further_from_the_exact_one_than_the_bound_says(precision: Any, classes: int) -> None:
    model = fitted(classes)
    forward = ForwardPass(model.encoding, model.classifier, precision)
    Z = rows(2000, seed=10)
    first, second = (weights.astype(np.longdouble) for weights in model.classifier.coefs_)
    hidden = np.maximum(model.encoding.transform(Z).astype(np.longdouble) @ first + model.classifier.intercepts_[0], 0)
    exact = (hidden @ second + model.classifier.intercepts_[1]).T
    inputs = forward.encode(Z)
    outputs = forward.output @ np.maximum(forward.hidden @ inputs, 0) + forward.output_bias
    error = np.abs(outputs - exact).max(axis=0)
    bound = forward.rounding @ np.abs(inputs)
    assert (error < bound).all()
    assert (bound < 1e4 * np.finfo(precision).eps * np.abs(exact).max()).all()  # and it is not idly large


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"hidden_layer_sizes": (5, 5)}, "2 hidden layers"),
        ({"activation": "tanh"}, "'tanh'"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # one pass is enough here
def test_networks_of_another_shape_are_refused(settings: dict[str, Any], reason: str) -> None:
    model = fitted(2)
    X = rows(20, seed=0)
    model.classifier = MLPClassifier(max_iter=1, **settings).fit(model.encoding.transform(X), X[:, 2])
    with pytest.raises(UnavailableError, match=reason):
        NetworkOracle(model)


def test_another_classifier_is_refused() -> None:
    class Stranger(MLPClassifier):  # type: ignore[misc]  # scikit-learn brings no types
        pass

    model = fitted(2)
    model.classifier.__class__ = Stranger
    with pytest.raises(UnavailableError, match="Stranger"):
        NetworkOracle(model)


# ------------------------------------------------------------------ K-neighbours


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
    expected = asked_together(model, drawn.reshape(-1, SPACE.d)).reshape(len(Z), m) if m else np.empty((len(Z), 0))
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


@each_number_of_classes
def test_neighbours_of_candidates_on_the_boundary(classes: int) -> None:
    model = fitted(classes)
    Z = on_the_boundary(classes)
    oracle = NetworkOracle(model)
    for x in (Z[0] + 1, Z[0]):  # nothing is kept, nearly everything is
        neighbours = KNeighbours(SPACE, x, 7, 8)
        expected = asked_alone(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 8)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


def test_neighbours_that_are_drawn_in_another_way_are_drawn_in_that_way() -> None:
    class Doubled(KNeighbours):
        def draw(self, Z: FloatArray, first: int = 0) -> FloatArray:
            return super().draw(Z, first) * np.where(SPACE.is_categorical, 1, 2)

    model = fitted(2)
    x = rows(1, seed=20)[0]
    Z = candidates(x, 30, seed=21)
    neighbours = Doubled(SPACE, x, 1, 4)
    expected = asked_together(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, 4)
    np.testing.assert_array_equal(NetworkOracle(model).predict_neighbours(Z, neighbours), expected)


def test_searches_take_turns() -> None:
    model = fitted(2)
    oracle = NetworkOracle(model)
    first, second = rows(2, seed=15)
    for x, m in ((first, 4), (second, 4), (first, 6), (first, 4)):
        Z = candidates(x, 30, seed=16)
        neighbours = KNeighbours(SPACE, x, 8, m)
        expected = asked_together(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(-1, m)
        np.testing.assert_array_equal(oracle.predict_neighbours(Z, neighbours), expected)


@each_number_of_classes
def test_a_box_is_settled_only_if_all_neighbours_are_of_one_class(classes: int) -> None:
    model = fitted(classes)
    x = rows(1, seed=17)[0]
    Z = candidates(x, 400, seed=18)
    neighbours = KNeighbours(SPACE, x, 9, 500)
    box = NeighbourBox(ForwardPass(model.encoding, model.classifier, np.float32), neighbours)
    winners, settled = box.answer(Z)
    answers = asked_together(model, neighbours.draw(Z).reshape(-1, SPACE.d)).reshape(len(Z), -1)
    agree = (answers == answers[:, :1]).all(axis=1)
    assert agree[settled].all()
    np.testing.assert_array_equal(winners[settled], answers[settled, 0])
    assert settled.sum() > 0.5 * agree.sum()  # and the bounds are worth their while


def test_where_nothing_is_perturbed_neighbours_are_the_candidate() -> None:
    still = FeatureSpace(tuple(FeatureSpec(f.name, f.kind, f.lower, f.upper, f.categories) for f in SPACE.features))
    model = fitted(2)
    Z = np.concatenate([rows(30, seed=19), on_the_boundary(2)])
    answers = NetworkOracle(model).predict_neighbours(Z, KNeighbours(still, Z[0], 1, 3))
    np.testing.assert_array_equal(answers, np.repeat(asked_alone(model, Z)[:, np.newaxis], 3, axis=1))
