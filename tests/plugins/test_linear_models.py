"""Logistic regression: fitting, the oracle, gradients, and the structure that it shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cfbench import FeatureSpace, FeatureSpec, Kind, Need, Problem
from cfbench.errors import ModelError
from cfbench.linear import NUMBER, LinearStructure, linear_of
from cfbench.models import Encoding
from cfbench.problem.oracle import Meter, random_rows
from cfbench.space import FloatArray, IntArray
from cfbench_models.linear.family import LinearModel, LogisticRegression

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 1000),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 3, ("none", "clerk", "nurse", "judge")),
        FeatureSpec("share", Kind.NUMERICAL, -1, 1),
        FeatureSpec("home", Kind.CATEGORICAL, 0, 1, ("rents", "owns")),
    )
)
KINDS = [(2, {}), (3, {}), (3, {"multi_class": "one-vs-rest"}), (2, {"fit_intercept": False}), (4, {})]


def table(n_classes: int, n: int = 300) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(n_classes)
    X = random_rows(SPACE, n, rng)
    X[X[:, 1] == 3, 1] = 0  # no judge occurs in training
    score = X[:, 0] / 500 + (X[:, 1] == 1) - X[:, 2] + 0.5 * X[:, 3] + rng.normal(0, 0.5, n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)).astype(np.int64)


def fitted(n_classes: int, strength: float = 1.0, **settings: Any) -> LinearModel:
    return LogisticRegression(**settings).fit(*table(n_classes), SPACE, {"C": strength})


@pytest.fixture(params=KINDS, ids=["two", "softmax", "one-vs-rest", "no-intercept", "four"])
def model(request: pytest.FixtureRequest) -> LinearModel:
    n_classes, settings = request.param
    return fitted(n_classes, **settings)


@pytest.mark.parametrize("multi_class", ["multinomial", "one-vs-rest"])
def test_it_answers_as_scikit_learn_does_on_columns_encoded_by_scikit_learn(multi_class: str) -> None:
    (X, y), Z = table(3), random_rows(SPACE, 200, np.random.default_rng(1))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(X[:, [1]])
    scaler = StandardScaler().fit(X[:, [0, 2]])

    def columns(rows: FloatArray) -> FloatArray:
        return np.hstack([scaler.transform(rows[:, [0, 2]]), encoder.transform(rows[:, [1]]), rows[:, [3]]])

    reference: Any = linear_model.LogisticRegression(C=0.1, max_iter=1000, tol=1e-8)
    reference = (OneVsRestClassifier(reference) if multi_class == "one-vs-rest" else reference).fit(columns(X), y)
    model = fitted(3, 0.1, multi_class=multi_class)
    np.testing.assert_allclose(model.predict_proba(Z), reference.predict_proba(columns(Z)), atol=2e-3)
    assert (model.predict(Z) == reference.predict(columns(Z))).mean() > 0.99


def test_settings_and_grid() -> None:
    assert LogisticRegression().grid() == {"C": [0.01, 0.1, 1.0, 10.0]}
    assert LogisticRegression(C=3).grid() == {"C": [3.0]}
    X, y = table(3)
    for family in (LogisticRegression(), LogisticRegression(multi_class="one-vs-rest")):
        chosen = family.tune(X, y, SPACE)
        assert chosen.keys() == {"C"}
        assert chosen["C"] in LogisticRegression().grid()["C"]


def test_a_fold_with_a_single_class_is_refused() -> None:
    X, y = table(2)
    with pytest.raises(ModelError, match="all 300 training rows have class 0"):
        LogisticRegression().fit(X, 0 * y, SPACE, {"C": 1.0})


@pytest.mark.parametrize(("n_classes", "settings"), KINDS)
def test_fitted_twice_it_is_the_same_model(n_classes: int, settings: dict[str, Any]) -> None:
    first = fitted(n_classes, **settings).fingerprint()
    assert fitted(n_classes, **settings).fingerprint() == first
    assert fitted(n_classes, 0.5, **settings).fingerprint() != first


def test_the_oracle_gives_the_librarys_classes(model: LinearModel) -> None:
    Z = random_rows(SPACE, 100_000, np.random.default_rng(3))
    Z[::7, 1] = 0.5  # no category: no indicator is set
    wanted = model.classifier.predict(model.encoding.transform(Z))
    found = model.oracle().predict(Z)
    np.testing.assert_array_equal(found, wanted)
    assert len(np.unique(found)) == model.n_classes
    np.testing.assert_array_equal(model.oracle().predict(Z[:1]), wanted[:1])
    assert model.oracle().predict(Z[:0]).shape == (0,)


def test_rows_next_to_a_tie_get_the_class_that_the_library_gives_them_alone(model: LinearModel) -> None:
    """Along lines between rows of different classes, down to neighbouring floats."""
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(40):
        a, b = random_rows(SPACE, 2, rng)
        b[[1, 3]] = a[[1, 3]]
        kept = model.predict_alone(a[np.newaxis])[0]
        while not np.array_equal(middle := (a + b) / 2, a) and not np.array_equal(middle, b):
            a, b = (middle, b) if model.predict_alone(middle[np.newaxis])[0] == kept else (a, middle)
        for steps in range(-5, 6):
            z = a.copy()
            z[0] = z[0] + steps * np.spacing(z[0])
            rows.append(z)
    Z = np.array(rows)
    alone = model.predict_alone(Z)
    np.testing.assert_array_equal(model.oracle().predict(Z), alone)
    np.testing.assert_array_equal(model.predict(Z), alone)
    with pytest.raises(ValueError, match="NaN"):
        model.oracle().predict(np.full((2, 4), np.nan))


ORDINAL = Encoding(
    4, np.arange(4), np.arange(4), (), np.array([500.0, 1.5, 0.0, 0.0]), np.array([300.0, 1.0, 0.6, 1.0])
)
"""All features as one column each, categories by their codes."""


def near_ties(model: LinearModel, n: int, rng: np.random.Generator) -> FloatArray:
    """Random rows whose income is moved to a tie of their two best classes, or up to three float64 numbers past it."""
    structure, Z = model.linear_structure(), random_rows(SPACE, n, rng)
    best, second = np.argsort(-structure.scores(Z), axis=1)[:, :2].T
    each, scores = np.arange(n), structure.scores(Z)
    slope = structure.slopes[best, 0] - structure.slopes[second, 0]
    Z[:, 0] -= (scores[each, best] - scores[each, second]) / slope
    Z[:, 0] += rng.integers(-3, 4, n) * np.spacing(Z[:, 0])
    return Z


@pytest.mark.slow
@pytest.mark.parametrize("ordinal", [False, True], ids=["one-hot", "ordinal"])
@pytest.mark.parametrize(("n_classes", "settings"), KINDS)
def test_a_million_rows(n_classes: int, settings: dict[str, Any], ordinal: bool) -> None:
    """The class of a row is the library's for that row alone; of all rows at once, it differs next to ties alone."""
    model, rng, doubtful = fitted(n_classes, **settings), np.random.default_rng(8), 0
    if ordinal:
        X, y = table(n_classes)
        model = LinearModel(ORDINAL, model.classifier.fit(ORDINAL.transform(X), y), n_classes)
    oracle = model.oracle()
    for block in range(10):
        Z = np.concatenate([random_rows(SPACE, 99_800, rng), near_ties(model, 200, rng)])
        Z[::7, 1] = 0.5  # no category
        found, wanted = oracle.predict(Z), model.classifier.predict(model.encoding.transform(Z))
        alone = np.union1d(np.flatnonzero(found != wanted), np.arange(99_800, 100_000))
        np.testing.assert_array_equal(found[alone], model.predict_alone(Z[alone]))
        assert len(alone) < 400
        doubtful += int((found[alone] != wanted[alone]).sum())
        assert len(set(found)) == n_classes, block
    assert doubtful > 0  # some rows are so near to a tie that the rows with which they are queried decide


@pytest.mark.parametrize("multi_class", ["multinomial", "one-vs-rest"])
def test_class_codes_as_text_and_names_of_classes(multi_class: str) -> None:
    (X, y), numbers = table(3), fitted(3, multi_class=multi_class)
    E, Z = numbers.encoding.transform(X), random_rows(SPACE, 500, np.random.default_rng(9))
    text = LinearModel(numbers.encoding, clone(numbers.classifier).fit(E, (y + 9).astype(str)), 12)
    assert text.classifier.classes_.tolist() == ["10", "11", "9"]
    assert text.linear_structure().classes.tolist() == [10, 11, 9]
    np.testing.assert_array_equal(
        text.oracle().predict(Z), text.classifier.predict(numbers.encoding.transform(Z)).astype(int)
    )
    assert (text.oracle().predict(Z) == numbers.predict(Z) + 9).mean() > 0.99
    assert text.predict_proba(Z).shape == (500, 12)
    names = clone(numbers.classifier).fit(E, np.array(["bad", "fair", "good"])[y])
    with pytest.raises(ModelError, match=r"classes_ \['bad', 'fair', 'good'\]; they must be class codes"):
        LinearModel(numbers.encoding, names, 3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_0_leave_a_feature_without_a_say(n_classes: int) -> None:
    model = fitted(n_classes)
    model.classifier.coef_[:, 0] = 0.0
    model, Z = (
        LinearModel(model.encoding, model.classifier, n_classes),
        random_rows(SPACE, 2000, np.random.default_rng(1)),
    )
    moved = Z.copy()
    moved[:, 0] = 1000 - moved[:, 0]
    np.testing.assert_array_equal(model.oracle().predict(Z), model.classifier.predict(model.encoding.transform(Z)))
    np.testing.assert_array_equal(model.oracle().predict(Z), model.oracle().predict(moved))
    assert (model.linear_structure().slopes[:, 0] == 0).all()


def tied_model(multi_class: str) -> LinearModel:
    """Return a model of three classes with all scores equal everywhere."""
    model = fitted(3, multi_class=multi_class)
    for one in getattr(model.classifier, "estimators_", [model.classifier]):
        one.coef_[:] = 0.0
        one.intercept_[:] = 0.0
    return LinearModel(model.encoding, model.classifier, 3)


@pytest.mark.parametrize("multi_class", ["multinomial", "one-vs-rest"])
def test_ties_and_weights_of_0(multi_class: str) -> None:
    """Of equal scores the first class wins."""
    model, Z = tied_model(multi_class), random_rows(SPACE, 5, np.random.default_rng(5))
    assert model.classifier.predict(model.encoding.transform(Z)).tolist() == [0] * 5
    assert model.linear_structure().predict(Z).tolist() == [0] * 5
    assert model.oracle().predict(Z).tolist() == [0] * 5
    assert (model.log_odds_gradient(Z, 0) == 0).all()


@pytest.mark.parametrize("target", [0, 1])
def test_gradients_are_those_of_finite_differences(model: LinearModel, target: int) -> None:
    Z = random_rows(SPACE, 50, np.random.default_rng(6))
    problem = Problem(Z[0], target, SPACE, Meter(model, 4), needs=[Need.GRADIENTS], model=model)
    found = problem.gradients(Z)

    def log_odds(rows: FloatArray) -> FloatArray:
        p = model.predict_proba(rows)
        odds: FloatArray = np.log(p[:, target] / np.delete(p, target, axis=1).sum(axis=1))
        return odds

    np.testing.assert_allclose(found.log_odds, log_odds(Z), rtol=1e-8, atol=1e-8)
    for i, width in ((0, 1e-2), (2, 1e-5)):
        up, down = Z.copy(), Z.copy()
        up[:, i] += width
        down[:, i] -= width
        slopes = (log_odds(up) - log_odds(down)) / (2 * width)
        np.testing.assert_allclose(found.numerical[:, i], slopes, rtol=1e-4, atol=1e-9)
    other = Z.copy()
    other[:, 1] = 2
    np.testing.assert_allclose(found.categories[1][:, 2], log_odds(other) - log_odds(Z), atol=1e-8)
    assert model.log_odds(Z, 9).tolist() == [-np.inf] * 50
    assert (model.log_odds_gradient(Z, 9) == 0).all()


def test_the_structure_is_the_model(model: LinearModel) -> None:
    structure, Z = linear_of(model), random_rows(SPACE, 2000, np.random.default_rng(7))
    decision = model.classifier.decision_function(model.encoding.transform(Z))
    scores = structure.scores(Z)
    if model.n_classes == 2:
        np.testing.assert_allclose(scores[:, 1] - scores[:, 0], decision, atol=1e-12)
    else:
        np.testing.assert_allclose(scores, decision[:, structure.classes], atol=1e-12)
    np.testing.assert_array_equal(structure.predict(Z), model.predict(Z))
    sums = structure.constants + sum(structure.parts(f, Z[:, f]) for f in range(4))
    np.testing.assert_allclose(sums, scores, atol=1e-12)
    assert structure.is_coded.tolist() == [False, True, False, False]
    assert (structure.tables[1][3:] == 0).all()  # the category that training lacked, and what is no category
    problem = Problem(Z[0], 1, SPACE, Meter(model, 4), needs=[Need.LINEAR], model=model)
    assert problem.linear is structure


HAND: dict[str, Any] = {
    "d": 2,
    "classes": np.array([3, 5]),
    "weights": np.array([[0.0, 0.0, 0.0], [2.0, 1.0, -1.0]]),
    "intercepts": np.array([0.0, -2.0]),
    "feature": np.array([0, 1, 1]),
    "code": np.array([NUMBER, 0, 2]),
    "mean": np.array([40.0, 0.0, 0.0]),
    "scale": np.array([10.0, 1.0, 1.0]),
}


def test_a_structure_worked_out_by_hand() -> None:
    structure = LinearStructure(**HAND)
    # 2 * (z0 - 40) / 10 + [z1 = 0] - [z1 = 2] - 2
    Z = np.array([[50.0, 1], [50, 0], [45, 0], [45.1, 0], [55, 2], [0, 1]])
    np.testing.assert_allclose(structure.scores(Z)[:, 1], [0, 1, 0, 0.02, 0, -10], atol=1e-12)
    assert structure.predict(np.array([[50.0, 0], [54.0, 2], [56.0, 2]])).tolist() == [5, 3, 5]
    assert structure.slopes.tolist() == [[0, 0], [0.2, 0]]
    assert structure.constants.tolist() == [0, -10]
    assert structure.tables[1][:, 1].tolist() == [1, 0, -1, 0]
    assert (structure.place_of(5), structure.place_of(0)) == (1, None)
    # two numbers, the three categories, and what is no category
    features, values = np.array([0, 0, 1, 1, 1, 1]), np.array([50.0, 45, 0, 1, 2, 3])
    np.testing.assert_allclose(structure.parts(features, values), [[0, s] for s in (10, 9, 1, 0, -1, 0)], atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.array([[0.0, 0, 0], [np.inf, 1, 1]])}, "weights holds inf; all numbers must be finite"),
        ({"intercepts": np.array([0.0, np.nan])}, "intercepts holds nan; all numbers must be finite"),
        ({"classes": np.array(["bad", "good"])}, r"\['bad', 'good'\]; they must be class codes"),
        ({"classes": np.array([3, 3])}, "two different ones at least are needed"),
        ({"mean": np.zeros(2)}, r"mean has shape \(2,\), not \(3,\)"),
        ({"feature": np.array([0, 1, 2])}, "an input comes from feature 2, and there are 2"),
        ({"scale": np.array([0.0, 1, 1])}, "a scale that is not positive"),
        ({"code": np.array([NUMBER, 2, 2])}, "two inputs for one category"),
        ({"code": np.array([NUMBER, NUMBER, 2])}, "is a number and has indicators too"),
    ],
)
def test_invalid_structures_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        LinearStructure(**{**HAND, **change})


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_a_classifier_with_weights_that_are_not_finite_is_refused(weight: float) -> None:
    model = fitted(2)
    model.classifier.coef_[0, 1] = weight
    with pytest.raises(ModelError, match=f"weights holds {weight}; all numbers must be finite"):
        LinearModel(model.encoding, model.classifier, 2)
