"""The compiled forward pass: certain of nothing but what the exact outputs say, however alike the rows are."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cfbench import FeatureSpace, FeatureSpec, Kind
from cfbench.space import FloatArray
from cfbench_models.network import oracle as network_oracle
from cfbench_models.network.family import NetworkModel, NeuralNetwork
from cfbench_models.network.inputs import ForwardPass
from cfbench_models.network.oracle import MANY_DIFFERENCES, CompiledPass, NetworkOracle
from cfbench_models.network.warmup import warm_up
from cfbench_models.shared.compilation import compiled_network

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("none", "clerk", "nurse", "judge")),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, ("no", "yes")),
        FeatureSpec("days", Kind.NUMERICAL, -50.0, 50.0),
        FeatureSpec("city", Kind.CATEGORICAL, 0, 4, ("A", "B", "C", "D", "E")),
        FeatureSpec("rooms", Kind.NUMERICAL, 1.0, 9.0),
    )
)
each_number_of_classes = pytest.mark.parametrize("classes", [2, 3])


def kernels() -> ModuleType:
    module = compiled_network()
    assert module is not None
    return module


def rows(n: int, seed: int, kept: float = 0.0) -> FloatArray:
    """Draw rows; each value is that of one common row with probability `kept`."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(SPACE.lower, SPACE.upper, (n, SPACE.d))
    codes = np.floor(rng.random((n, SPACE.d)) * np.maximum(SPACE.n_categories, 1))
    drawn = np.where(SPACE.is_categorical, codes, numbers)
    common = np.array([412.5, 1.0, 1.0, -3.0, 3.0, 4.0])
    result: FloatArray = np.where(rng.random((n, SPACE.d)) < kept, common, drawn)
    return result


@cache
def fitted(classes: int) -> NetworkModel:
    X = rows(200, seed=0)
    X[X[:, 4] >= 3, 4] = 0  # cities D and E do not occur in training
    score = X[:, 0] / 1000 + (X[:, 1] == 2) + X[:, 3] / 100 + np.random.default_rng(1).normal(0, 0.2, len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    return NeuralNetwork().fit(X, y, SPACE, {"learning_rate_init": 0.01, "max_iter": 200, "solver": "adam"})


@cache
def passes(classes: int) -> tuple[CompiledPass, ForwardPass]:
    model = fitted(classes)
    single = ForwardPass(model.encoding, model.classifier, np.float32)
    return CompiledPass(single, kernels()), single


def exact_outputs(model: NetworkModel, Z: FloatArray) -> Any:
    """Return the outputs in extended precision, shape (n, outputs)."""
    first, second = (weights.astype(np.longdouble) for weights in model.classifier.coefs_)
    hidden = np.maximum(model.encoding.transform(Z).astype(np.longdouble) @ first + model.classifier.intercepts_[0], 0)
    return hidden @ second + model.classifier.intercepts_[1]


def exact(model: NetworkModel, Z: FloatArray) -> tuple[Any, Any]:
    """Return the winners, and by how much they lead."""
    outputs = exact_outputs(model, Z)
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(np.int64), np.abs(outputs[:, 0])
    ordered = np.sort(outputs, axis=1)
    return outputs.argmax(axis=1), ordered[:, -1] - ordered[:, -2]


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.9, 1.0])
@each_number_of_classes
def test_rows_have_the_exact_class(classes: int, kept: float) -> None:
    Z = rows(5000, seed=3, kept=kept)
    winners, certain = passes(classes)[0].answer(Z)
    wanted, leads = exact(fitted(classes), Z)
    np.testing.assert_array_equal(winners[certain], wanted[certain])
    assert certain.mean() > 0.98
    assert certain[leads > 0.01].all()  # the bound is not idly large


@each_number_of_classes
def test_rows_beside_the_boundary_are_in_doubt_or_right(classes: int) -> None:
    model, (compiled, _) = fitted(classes), passes(classes)
    near, far = rows(4000, seed=4, kept=0.7), rows(4000, seed=5, kept=0.7)
    far = np.where(SPACE.is_categorical, near, far)
    apart = exact(model, near)[0] != exact(model, far)[0]
    near, far = near[apart], far[apart]
    assert len(near) > 100
    own = exact(model, near)[0]
    doubts = []
    for _ in range(45):
        middle = near + (far - near) / 2
        winners, certain = compiled.answer(middle)
        wanted, _ = exact(model, middle)
        np.testing.assert_array_equal(winners[certain], wanted[certain])
        stays = (wanted == own)[:, np.newaxis]
        near, far = np.where(stays, middle, near), np.where(stays, far, middle)
        doubts.append(1 - certain.mean())
    assert doubts[0] < 0.05
    assert doubts[-1] == 1


def test_rows_without_likeness_are_answered_by_a_matrix_product(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, single = passes(2)
    Z = rows(300, seed=6)
    asked = kernels().classes_of_rows(compiled._tables, Z, 1.0)
    assert not asked[0]
    monkeypatch.setattr("cfbench_models.network.oracle.MANY_DIFFERENCES", 1.0)
    for given, wanted in zip(compiled.answer(Z), single.answer(Z), strict=True):
        np.testing.assert_array_equal(given, wanted)
    assert MANY_DIFFERENCES > 1


@pytest.mark.parametrize("odd", [0.5, -1.0, 7.0, 1e300, -1e300, np.inf])
@each_number_of_classes
def test_values_that_are_no_categories_or_beyond_all_measure(classes: int, odd: float) -> None:
    model = fitted(classes)
    Z = rows(60, seed=7, kept=0.8)
    Z[::2, 1] = odd
    winners, certain = passes(classes)[0].answer(Z)
    np.testing.assert_array_equal(winners[certain], exact(model, Z)[0][certain])
    assert certain.any()
    Z = rows(60, seed=8, kept=0.8)
    Z[::3, 0] = odd
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = exact(model, Z)[0]
        winners, certain = passes(classes)[0].answer(Z)
    np.testing.assert_array_equal(winners[certain], wanted[certain])
    if abs(odd) > 1e299:
        assert not certain[::3].any()


@each_number_of_classes
def test_with_and_without_a_compiler_the_classes_are_the_same(monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    model = fitted(classes)
    fast = NetworkOracle(model)
    monkeypatch.setattr(network_oracle, "compiled_network", lambda: None)
    plain = NetworkOracle(model)
    assert isinstance(fast._first, CompiledPass)
    assert isinstance(plain._first, ForwardPass)
    for kept in (0.0, 0.8):
        Z = rows(2000, seed=9, kept=kept)
        for some in (Z, Z[:1], Z[:0], np.asfortranarray(Z[:90])):
            np.testing.assert_array_equal(fast.predict(some), plain.predict(some))


def test_rows_of_another_width_are_refused_and_never_read_past_their_end() -> None:
    for width in (5, 7):
        with pytest.raises((ValueError, IndexError)):
            passes(2)[0].answer(np.zeros((4, width)))


def test_the_warm_up_asks_as_searches_do() -> None:
    warm_up()
    before = len(kernels().classes_of_rows.signatures)
    for classes in (2, 3):
        NetworkOracle(fitted(classes)).predict(rows(10, seed=0))
    assert len(kernels().classes_of_rows.signatures) == before
