"""Fitted networks, rows to ask them about, and scikit-learn's own answers."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

from cfbench import CategoricalPerturbation, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench.space import FloatArray, IntArray
from cfbench_models.network.family import NetworkModel, NeuralNetwork

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


def rows(n: int, seed: int, kept: float = 0.0) -> FloatArray:
    """Draw rows; each value is that of one common row with probability `kept`."""
    rng = np.random.default_rng(seed)
    numbers = rng.uniform(SPACE.lower, SPACE.upper, (n, SPACE.d))
    codes = np.floor(rng.random((n, SPACE.d)) * np.maximum(SPACE.n_categories, 1))
    drawn = np.where(SPACE.is_categorical, codes, numbers)
    common = np.array([412.5, 1.0, 1.0, -3.0, 1.0, 4.0])
    return np.where(rng.random((n, SPACE.d)) < kept, common, drawn)


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


def classes_of_all(model: NetworkModel, Z: FloatArray) -> IntArray:
    classes: IntArray = model.classifier.predict(model.encoding.transform(Z))
    return classes


def classes_one_by_one(model: NetworkModel, Z: FloatArray) -> IntArray:
    return np.array([classes_of_all(model, z[np.newaxis])[0] for z in Z], dtype=np.int64)


def exact_outputs(model: NetworkModel, Z: FloatArray) -> Any:
    """Return the outputs in extended precision, shape (n, outputs)."""
    first, second = (weights.astype(np.longdouble) for weights in model.classifier.coefs_)
    hidden = np.maximum(model.encoding.transform(Z).astype(np.longdouble) @ first + model.classifier.intercepts_[0], 0)
    return hidden @ second + model.classifier.intercepts_[1]


@cache
def on_the_boundary(classes: int) -> FloatArray:
    """Return rows around neighbouring floats between which scikit-learn's class changes."""
    model = fitted(classes)
    found: list[FloatArray] = []
    for start, end in rows(80, seed=5).reshape(40, 2, -1):
        near, far = start, np.where(SPACE.is_categorical, start, end)
        class_of_near, class_of_far = classes_one_by_one(model, np.array([near, far]))
        if class_of_near == class_of_far:
            continue
        middle = (near + far) / 2
        while not (np.array_equal(middle, near) or np.array_equal(middle, far)):
            if classes_one_by_one(model, middle[np.newaxis])[0] == class_of_near:
                near = middle
            else:
                far = middle
            middle = (near + far) / 2
        ulps = np.where(SPACE.is_categorical, 0.0, np.spacing(np.abs(near)))
        found += [near + step * ulps for step in range(-4, 5)]
    return np.array(found)
