"""The network's oracle: scikit-learn's classes, for every row, beside whatever other rows it is asked."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from cfbench.errors import UnavailableError
from cfbench.robustness import KNeighbours
from cfbench_models.network.inputs import ForwardPass
from cfbench_models.network.oracle import NetworkOracle
from tests.plugins.fitted_networks import (
    CHOSEN,
    SPACE,
    classes_of_all,
    classes_one_by_one,
    each_number_of_classes,
    fitted,
    on_the_boundary,
    rows,
)


@pytest.mark.slow
@pytest.mark.parametrize("choice", CHOSEN)
@each_number_of_classes
def test_50_000_rows_have_scikit_learns_classes(choice: tuple[Any, ...], classes: int) -> None:
    model = fitted(classes, *choice)
    Z = rows(50_000, seed=2)
    np.testing.assert_array_equal(NetworkOracle(model).predict(Z), classes_of_all(model, Z))


@each_number_of_classes
def test_rows_one_by_one_have_the_same_classes(classes: int) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    Z = rows(300, seed=3)
    np.testing.assert_array_equal([oracle.predict(z[np.newaxis])[0] for z in Z], classes_one_by_one(model, Z))


@pytest.mark.slow
@each_number_of_classes
def test_rows_on_the_boundary_are_answered_as_if_asked_alone(classes: int) -> None:
    model = fitted(classes)
    oracle = NetworkOracle(model)
    Z = on_the_boundary(classes)
    alone = classes_one_by_one(model, Z)
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
    assert not classes_of_all(model, Z).any()
    assert not NetworkOracle(model).predict(Z).any()
    assert not NetworkOracle(model).predict(Z[:1]).any()


def test_an_output_next_to_zero_counts_as_the_logistic_function_rounds_it() -> None:
    model = fitted(2)
    model.classifier.coefs_[1][:] = 0
    for bias in (1e-17, 1e-16, 2e-16, 3e-16, 1e-15, -1e-17):
        model.classifier.intercepts_[1][:] = bias
        Z = rows(3, seed=6)
        np.testing.assert_array_equal(NetworkOracle(model).predict(Z), classes_of_all(model, Z))


@each_number_of_classes
def test_values_that_are_no_categories_or_beyond_all_measure_are_answered_in_silence(classes: int) -> None:
    model = fitted(classes)
    Z = rows(64, seed=7)
    Z[:16, 1] = [-1, 0.5, 4, 1e300] * 4
    Z[16:32, 4] = [2, 1.5, -0.0, 7] * 4
    Z[32:48, 0] = [sign * size for size in (1e20, 1e33, 1e38, 3e38, 1e39, 1e150, 1e300, 1e308) for sign in (1, -1)]
    Z[48:, 3] = [1e-320, -1e-310, 1e-40, 1e5] * 4
    expected = classes_one_by_one(model, Z)
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
