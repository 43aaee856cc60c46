"""The random forest and the neural network: grids, tuning, fitting, asking."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cfbench import FeatureSpace, FeatureSpec, Kind, ModelFamily
from cfbench.errors import ModelError
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import FittedModels
from cfbench.space import FloatArray, IntArray
from cfbench.space.dataset import split
from cfbench_models.forest.family import RandomForest
from cfbench_models.network.family import NeuralNetwork
from cfbench_models.plugin import cfbench_register_models

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, categories=("none", "clerk", "nurse")),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, categories=("no", "yes")),
    )
)
FOREST = {"n_estimators": 5, "min_samples_split": 2, "max_features": "sqrt"}
NETWORK = {"learning_rate_init": 0.01, "max_iter": 20, "solver": "adam"}
FAMILIES: list[tuple[ModelFamily, dict[str, Any]]] = [(RandomForest(), FOREST), (NeuralNetwork(), NETWORK)]
each_family = pytest.mark.parametrize(("family", "choice"), FAMILIES, ids=["random-forest", "neural-network"])


def table(n: int = 90, seed: int = 0, classes: int = 2) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 1000, n), rng.integers(3, size=n), rng.integers(2, size=n)]).astype(np.float64)
    score = X[:, 0] / 1000 + (X[:, 1] == 2) + rng.normal(0, 0.1, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    return X, y


def test_the_grids_are_the_papers() -> None:
    assert RandomForest().grid() == {
        "n_estimators": [50, 500],
        "min_samples_split": [2, 8],
        "max_features": ["sqrt", None],
    }
    assert NeuralNetwork().grid() == {
        "learning_rate_init": [0.0001, 0.01],
        "max_iter": [200, 1000],
        "solver": ["adam", "sgd"],
    }


def test_a_setting_that_is_given_is_not_tuned() -> None:
    assert RandomForest(max_features="all", n_estimators=7).grid() == {
        "n_estimators": [7],
        "min_samples_split": [2, 8],
        "max_features": [None],
    }
    assert NeuralNetwork(solver="sgd").grid()["solver"] == ["sgd"]


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        (RandomForest, {"n_estimators": 0}),
        (RandomForest, {"min_samples_split": 1}),
        (RandomForest, {"max_features": "log2"}),
        (NeuralNetwork, {"learning_rate_init": 0}),
        (NeuralNetwork, {"learning_rate_init": float("inf")}),
        (NeuralNetwork, {"max_iter": 0}),
        (NeuralNetwork, {"solver": "lbfgs"}),
        (NeuralNetwork, {"n_estimators": 50}),
    ],
)
def test_impossible_settings_are_refused(family: type[ModelFamily], settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        family(**settings)


def test_a_forest_answers_as_scikit_learns_does_on_columns_encoded_by_scikit_learn() -> None:
    X, y = table(classes=3)
    Z, _ = table(200, seed=1)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[:, [1]])

    def columns(rows: FloatArray) -> FloatArray:
        return np.hstack([rows[:, [0]], encoder.transform(rows[:, [1]]), rows[:, [2]]])

    reference = RandomForestClassifier(5, min_samples_split=8, max_features=None, random_state=42).fit(columns(X), y)
    model = RandomForest().fit(X, y, SPACE, {"n_estimators": 5, "min_samples_split": 8, "max_features": None})
    np.testing.assert_array_equal(model.predict(Z), reference.predict(columns(Z)))
    np.testing.assert_array_equal(model.predict_proba(Z), reference.predict_proba(columns(Z)))


# The paper keeps networks that have not converged; here the test itself trains one.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_answers_as_scikit_learns_does_on_columns_encoded_by_scikit_learn() -> None:
    X, y = table()
    Z, _ = table(200, seed=1)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[:, [1]])
    scaler = StandardScaler().fit(X[:, [0]])

    def columns(rows: FloatArray) -> FloatArray:
        return np.hstack([scaler.transform(rows[:, [0]]), encoder.transform(rows[:, [1]]), rows[:, [2]]])

    reference = MLPClassifier(learning_rate_init=0.01, max_iter=20, random_state=42).fit(columns(X), y)
    model = NeuralNetwork().fit(X, y, SPACE, NETWORK)
    np.testing.assert_array_equal(model.predict(Z), reference.predict(columns(Z)))
    np.testing.assert_allclose(model.predict_proba(Z), reference.predict_proba(columns(Z)), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # as above
def test_tuning_picks_the_most_accurate_point_of_the_grid_each_split_encoded_on_its_own() -> None:
    X, y = table(60)
    rates = [1e-4, 1e-2]
    accuracy = []
    for rate in rates:
        right = []
        for train, test in StratifiedKFold(5).split(X, y):
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[train][:, [1]])
            scaler = StandardScaler().fit(X[train][:, [0]])
            encoded = np.hstack([scaler.transform(X[:, [0]]), encoder.transform(X[:, [1]]), X[:, [2]]])
            network = MLPClassifier(learning_rate_init=rate, max_iter=30, random_state=42).fit(encoded[train], y[train])
            right.append(network.score(encoded[test], y[test]))
        accuracy.append(np.mean(right))
    chosen = NeuralNetwork(max_iter=30, solver="adam").tune(X, y, SPACE)
    assert accuracy[0] != accuracy[1]
    assert chosen == {"learning_rate_init": rates[int(np.argmax(accuracy))], "max_iter": 30, "solver": "adam"}


def test_a_forest_is_tuned_over_what_is_left_open() -> None:
    X, y = table(60)
    chosen = RandomForest(n_estimators=3, min_samples_split=2).tune(X, y, SPACE)
    assert chosen["n_estimators"] == 3
    assert chosen["min_samples_split"] == 2
    assert chosen["max_features"] in ("sqrt", None)


@each_family
def test_training_is_silent_even_where_a_class_is_rare(family: ModelFamily, choice: dict[str, Any]) -> None:
    X, y = table(60)
    y = y.copy()
    y[:4] = 2
    fixed = type(family)(**choice)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed.tune(X, y, SPACE)
        fixed.fit(X, y, SPACE, choice)


@each_family
def test_a_class_that_training_lacks_has_a_column_of_zeros(family: ModelFamily, choice: dict[str, Any]) -> None:
    X, y = table()
    model = family.fit(X, y * 2, SPACE, choice)  # classes 0 and 2
    shares = model.predict_proba(X)
    assert shares.shape == (len(X), 3)
    assert not shares[:, 1].any()
    assert set(model.predict(X)) == {0, 2}


@each_family
def test_training_rows_of_one_class_are_refused(family: ModelFamily, choice: dict[str, Any]) -> None:
    X, y = table()
    with pytest.raises(ModelError, match="all 90 training rows have class 1"):
        family.fit(X, np.ones_like(y), SPACE, choice)


@each_family
def test_the_fingerprint_is_of_what_was_learned(family: ModelFamily, choice: dict[str, Any]) -> None:
    X, y = table()
    first = family.fit(X, y, SPACE, choice)
    assert family.fit(X, y, SPACE, choice).fingerprint() == first.fingerprint()
    other_rows = X.copy()
    other_rows[:, 0] = 1000 - other_rows[:, 0]
    assert family.fit(other_rows, y, SPACE, choice).fingerprint() != first.fingerprint()
    # the same trees or weights for other class codes give other answers
    assert family.fit(X, y * 2, SPACE, choice).fingerprint() != first.fingerprint()


@each_family
def test_the_papers_families_keep_their_fingerprints(family: ModelFamily, choice: dict[str, Any]) -> None:
    """Published records hold them."""
    X, y = table()
    kept = {RandomForest: "bcc87300e2d0a2273e6dc445014053dc", NeuralNetwork: "560b0d776ae6344239c8d7443b5f6caa"}
    assert family.fit(X, y, SPACE, choice).fingerprint() == kept[type(family)]


def test_both_models_are_registered_under_the_names_of_the_studies() -> None:
    entries = {entry.name: entry for entry in cfbench_register_models()}
    assert entries["random-forest"].family is RandomForest
    assert entries["neural-network"].family is NeuralNetwork


@pytest.mark.parametrize("model", ["random-forest", "neural-network"])
def test_the_fingerprints_are_those_of_the_records(model: str, tmp_path: Path) -> None:
    """What is in every row of a published record; that of a network is computed anew, as it differs by machine."""
    registry = build_registry()
    entry = registry.model(model).entry
    dataset = registry.dataset("credit").entry.load(DataSource((), tmp_path, download=False))
    train = split(dataset, 0).train
    choice = FittedModels(tmp_path).hyperparameters(dataset, 0, entry, entry.family())
    fitted: Any = entry.family().fit(dataset.X[train], dataset.y[train], dataset.space, choice)
    if model == "random-forest":
        assert fitted.fingerprint() == "c51eb99ec9f0eeb267c96233bc555904"
        return
    encoding, network = fitted.encoding, fitted.classifier
    parts = [encoding.copied, encoding.columns]
    for part in encoding.one_hot:
        parts += [np.array([part.feature, part.start]), part.table]
    parts += [encoding.mean, encoding.scale, np.array([0, 1]), *network.coefs_, *network.intercepts_]
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(f"{part.dtype.str}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
    assert fitted.fingerprint() == state.hexdigest()
