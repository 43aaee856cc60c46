"""`SklearnFamily`: scikit-learn classifiers as models, and everything that an author may give by mistake."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cfbench
from cfbench import FeatureSpace, FeatureSpec, Kind, ModelEntry, ModelFamily, SklearnFamily
from cfbench.errors import ModelError, PluginError, UnknownNameError
from cfbench.space import FloatArray, IntArray
from cfbench.testing import check_model
from tests.databases import record_digest

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0.0, 1000.0),
        FeatureSpec("job", Kind.CATEGORICAL, 0, 2, categories=("none", "clerk", "nurse")),
        FeatureSpec("owner", Kind.CATEGORICAL, 0, 1, categories=("no", "yes")),
    )
)


def table(n: int = 90, seed: int = 0, classes: int = 2) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 1000, n), rng.integers(3, size=n), rng.integers(2, size=n)]).astype(np.float64)
    score = X[:, 0] / 1000 + (X[:, 1] == 2) + rng.normal(0, 0.1, n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)).astype(np.int64)
    return X, y


def by_hand(X: FloatArray) -> FloatArray:
    """Encode rows of SPACE: income, a column for each job, owner."""
    jobs = OneHotEncoder(categories=[[0, 1, 2]], sparse_output=False).fit_transform(X[:, [1]])
    return np.hstack([X[:, [0]], jobs, X[:, [2]]])


class Textual(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn brings no types
    """A tree that calls its classes by texts, as libraries do that encode labels themselves."""

    def fit(self, X: FloatArray, y: IntArray) -> Textual:
        self.tree_ = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y.astype(str))
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: FloatArray) -> Any:
        return self.tree_.predict(X)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        shares: FloatArray = self.tree_.predict_proba(X)
        return shares


class Named(Textual):
    """It has names of its own for the classes."""

    def fit(self, X: FloatArray, y: IntArray) -> Textual:
        super().fit(X, y)
        self.classes_ = np.array(["refused", "granted"])
        return self


class Classless(Textual):
    """It does not say which classes it knows."""

    def fit(self, X: FloatArray, y: IntArray) -> Textual:
        super().fit(X, y)
        del self.classes_
        return self


class Raising(Textual):
    """It cannot be fitted."""

    def fit(self, X: FloatArray, y: IntArray) -> Textual:
        raise ValueError("income must not be negative")


class Swaying(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # as above
    """A rule on the first column whose scores move by rounding if there are several rows."""

    def fit(self, X: FloatArray, y: IntArray) -> Swaying:
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: FloatArray) -> FloatArray:
        return X[:, 0] - 500.0 + (1e-12 if len(X) > 1 else -1e-12)

    def predict(self, X: FloatArray) -> IntArray:
        return (self.decision_function(X) > 0).astype(np.int64)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        return np.eye(2)[(self.decision_function(X) > 0).astype(np.int64)]


def tree(seed: int) -> Any:
    return DecisionTreeClassifier(random_state=seed)


def forest(seed: int) -> Any:
    return RandomForestClassifier(20, n_jobs=2, random_state=seed)


def logistic(seed: int) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(random_state=seed))


def neighbours(_: int) -> Any:
    return KNeighborsClassifier(4)


def bayes(_: int) -> Any:
    return GaussianNB()


def support_vectors(seed: int) -> Any:
    return CalibratedClassifierCV(SVC(random_state=seed), ensemble=False)


def boosting(seed: int) -> Any:
    return HistGradientBoostingClassifier(max_iter=10, random_state=seed)


def textual(_: int) -> Any:
    return Textual()


def named(_: int) -> Any:
    return Named()


def classless(_: int) -> Any:
    return Classless()


def raising(_: int) -> Any:
    return Raising()


def swaying(_: int) -> Any:
    return Swaying()


def without_probabilities(_: int) -> Any:
    return LinearSVC()


def regression(_: int) -> Any:
    return Ridge()


def nothing(_: int) -> Any:
    """Forget the `return`."""


def the_class(_: int) -> Any:
    return DecisionTreeClassifier


def number(_: int) -> Any:
    return 3


def failing(_: int) -> Any:
    raise KeyError("no such file")


# ---------------------------------------------------------------- what it makes


def test_it_answers_as_the_classifier_does_on_columns_encoded_by_scikit_learn() -> None:
    X, y = table(classes=3)
    Z, _ = table(200, seed=1)
    model = SklearnFamily(tree)().fit(X, y, SPACE, {})
    reference = DecisionTreeClassifier(random_state=42).fit(by_hand(X), y)
    np.testing.assert_array_equal(model.predict(Z), reference.predict(by_hand(Z)))
    np.testing.assert_array_equal(model.predict_proba(Z), reference.predict_proba(by_hand(Z)))
    assert model.oracle() is model


def test_numbers_are_standardised_on_request() -> None:
    X, y = table()
    Z, _ = table(200, seed=1)
    model = SklearnFamily(neighbours, standardise=True)().fit(X, y, SPACE, {})
    scale = StandardScaler().fit(X[:, [0]])

    def columns(rows: FloatArray) -> FloatArray:
        return np.hstack([scale.transform(rows[:, [0]]), by_hand(rows)[:, 1:]])

    reference = KNeighborsClassifier(4).fit(columns(X), y)
    np.testing.assert_array_equal(model.predict_proba(Z), reference.predict_proba(columns(Z)))


def test_tuning_picks_the_most_accurate_point_of_the_grid() -> None:
    X, y = table()
    depths = [1, 2, 6]
    accuracy = [
        cross_val_score(DecisionTreeClassifier(max_depth=depth, random_state=42), by_hand(X), y, cv=5).mean()
        for depth in depths
    ]
    assert len(set(accuracy)) == 3
    family = SklearnFamily(tree, {"max_depth": depths})
    assert family().tune(X, y, SPACE) == {"max_depth": depths[int(np.argmax(accuracy))]}


def test_parameters_of_the_grid_are_settings() -> None:
    family: Any = SklearnFamily(
        tree, {"max_depth": [2, 4], "criterion": ["gini", "entropy"], "max_features": [0.5, None]}
    )
    assert family().grid() == {"max_depth": [2, 4], "criterion": ["gini", "entropy"], "max_features": [0.5, None]}
    given = family(max_depth=7, criterion="gini")
    assert given.grid() == {"max_depth": [7], "criterion": ["gini"], "max_features": [0.5, None]}
    X, y = table()
    model: Any = given.fit(X, y, SPACE, {"max_depth": 7, "criterion": "gini", "max_features": None})
    assert model.classifier.get_params()["max_depth"] == 7
    for wrong in ({"max_depth": "deep"}, {"max_depth": 2.5}, {"depth": 2}):
        with pytest.raises(ValidationError):
            family(**wrong)


def test_parameters_of_a_pipelines_steps_are_settings() -> None:
    X, y = table()
    family: Any = SklearnFamily(logistic, {"logisticregression__C": [0.01, 100.0]})
    assert family().tune(X, y, SPACE) == {"logisticregression__C": 100.0}
    model: Any = family(logisticregression__C=3).fit(X, y, SPACE, {"logisticregression__C": 3})
    assert model.classifier[-1].C == 3


def test_values_that_are_lists_stay_lists_whatever_the_file_makes_of_them() -> None:
    family = SklearnFamily(tree, {"class_weight": [({"0": 1},), None]})
    assert family().grid() == {"class_weight": [[{"0": 1}], None]}


FACTORIES = [tree, forest, logistic, neighbours, bayes, support_vectors, boosting, textual]
each = pytest.mark.parametrize("factory", FACTORIES, ids=lambda factory: factory.__name__)


@each
def test_the_fingerprint_is_of_what_was_learned(factory: Callable[[int], Any]) -> None:
    X, y = table()
    family = SklearnFamily(factory)()
    one, again = (family.fit(X.copy(), y.copy(), SPACE, {}) for _ in range(2))
    assert one.fingerprint() == again.fingerprint()
    one.predict(X)
    one.predict_proba(X)
    kept: Any = pickle.loads(pickle.dumps(family.fit(X, y, SPACE, {})))
    assert kept.fingerprint() == one.fingerprint() == again.fingerprint()
    other = X.copy()
    other[:, 0] = 1000 - other[:, 0]
    assert family.fit(other, y, SPACE, {}).fingerprint() != one.fingerprint()


@each
def test_every_kind_of_classifier_passes_the_conformance_checks(factory: Callable[[int], Any]) -> None:
    report = check_model(ModelEntry(name="mine", family=SklearnFamily(factory)))
    assert report.passed, str(report)


def test_training_and_answers_take_one_thread() -> None:
    X, y = table()
    model: Any = SklearnFamily(forest)().fit(X, y, SPACE, {})
    assert model.classifier.n_jobs == 1


@pytest.mark.parametrize("classes", [2, 3, 12])
def test_classes_that_are_texts_are_mapped_to_their_codes(classes: int) -> None:
    X, y = table(240, classes=classes)
    model: Any = SklearnFamily(textual)().fit(X, y, SPACE, {})
    reference = DecisionTreeClassifier(max_depth=5, random_state=0).fit(by_hand(X), y.astype(str))
    expected = [int(text) for text in reference.predict(by_hand(X))]
    assert model.predict(X).tolist() == expected  # of twelve classes, "10" comes before "2"
    shares = model.predict_proba(X)
    assert shares.shape == (240, classes)
    assert (shares[np.arange(240), expected] == shares.max(axis=1)).all()


def test_a_class_that_training_lacks_has_a_column_of_zeros() -> None:
    X, y = table()
    shares = SklearnFamily(tree)().fit(X, y * 2, SPACE, {}).predict_proba(X)
    assert shares.shape == (90, 3)
    assert not shares[:, 1].any()


def test_the_class_of_a_row_is_the_one_that_it_has_alone() -> None:
    X, y = table()
    model = SklearnFamily(swaying)().fit(X, y, SPACE, {})
    Z = np.array([[500.0, 0, 0], [500.0 + 1e-13, 1, 1], [499.0, 0, 0], [501.0, 0, 0]])
    alone = [int(model.predict(z[np.newaxis])[0]) for z in Z]
    assert alone == [0, 0, 0, 1]
    assert model.predict(Z).tolist() == alone


PLUGIN = """
from cfbench import ModelEntry, SklearnFamily, hookimpl
from sklearn.tree import DecisionTreeClassifier

def tree(seed):
    return DecisionTreeClassifier(random_state=seed, min_samples_leaf=LEAF)

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="my-tree", family=SklearnFamily(tree, {"max_depth": [2, 4]}))
"""


@pytest.mark.slow
def test_worker_processes_fit_the_same_models_and_an_edited_factory_fits_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "mine.py"
    study = {"datasets": ["wine"], "models": ["my-tree"], "searchers": ["nearest-unlike"], "folds": [0, 1]}
    digests, fingerprints = [], []
    for leaf, workers in ((1, 1), (1, 2), (9, 1)):
        file.write_text(PLUGIN.replace("LEAF", str(leaf)))
        results = tmp_path / f"results-{leaf}-{workers}"
        if workers == 2:
            monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "another"))
        cfbench.run(
            study, points=2, repetitions=1, workers=workers, tracking="none", results=results, plugins=[str(file)]
        )
        digests.append(record_digest(results))
        fingerprints.append(set(cfbench.load_record(results)["model_fingerprint"]))
    assert digests[0] == digests[1]
    assert len(fingerprints[0]) == 2
    assert not fingerprints[0] & fingerprints[2]


# ---------------------------------------------------------------- what an author may give by mistake


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (
            lambda seed: DecisionTreeClassifier(random_state=seed),
            r"at the top level of a module, not a lambda: .*write `def make\(seed\)",
        ),
        (DecisionTreeClassifier, r"must be a function, not the class DecisionTreeClassifier: write `def make"),
        (DecisionTreeClassifier(), r"must be a function, not DecisionTreeClassifier\(\): write"),
        (None, r"must be a function, not None"),
    ],
    ids=["lambda", "class", "instance", "none"],
)
def test_a_factory_that_is_no_function_of_a_module_is_refused(factory: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        SklearnFamily(factory)


def test_a_function_inside_a_function_is_refused() -> None:
    def inner(seed: int) -> Any:
        return tree(seed)

    with pytest.raises(PluginError, match="not 'inner', a function inside a function: worker processes and the cache"):
        SklearnFamily(inner)


def test_a_factory_takes_the_seed() -> None:
    with pytest.raises(PluginError, match=r"'table_of_nothing' must take one argument, the seed \(too many positional"):
        SklearnFamily(table_of_nothing)  # type: ignore[arg-type] # its fault


def table_of_nothing() -> Any:
    return tree(0)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([("max_depth", [2])], "grid must be a table of lists by parameter, not"),
        ({"max_depth": []}, r"gives the parameter 'max_depth' \[\], not a list of values"),
        ({"max_depth": 3}, "gives the parameter 'max_depth' 3, not a list of values"),
        ({"criterion": "gini"}, "gives the parameter 'criterion' 'gini', not a list of values"),
        ({"max_depth": [np.int64(3)]}, r"the value np\.int64\(3\) .*with `\.tolist\(\)`"),
        ({"alpha": [float("inf")]}, r"the value inf \(a digest needs finite numbers"),
        ({"estimator": [DecisionTreeClassifier()]}, "set anything else in the factory"),
        ({"max depth": [3]}, "'max depth', which cannot be the name of a setting"),
        ({"fit": [3]}, "'fit', which cannot be the name of a setting"),
        ({3: [3]}, "the parameter 3, which cannot be the name of a setting"),
    ],
)
def test_a_grid_of_anything_but_lists_of_values_is_refused(grid: Any, message: str) -> None:
    with pytest.raises(PluginError, match=message):
        SklearnFamily(tree, grid)


def test_without_a_grid_there_is_nothing_to_tune() -> None:
    assert SklearnFamily(tree, {})().grid() == SklearnFamily(tree)().grid() == {}


def test_a_parameter_that_the_classifier_lacks_is_named_with_those_that_it_has() -> None:
    X, y = table()
    family = SklearnFamily(tree, {"depth": [2, 3]})
    for call in (lambda: family().tune(X, y, SPACE), lambda: family().fit(X, y, SPACE, {"depth": 2})):
        with pytest.raises(UnknownNameError, match=r"unknown parameter of DecisionTreeClassifier 'depth'.*max_depth"):
            call()


WRONG = [
    (nothing, "the factory 'nothing' returned None: return an unfitted classifier"),
    (number, "the factory 'number' returned a int without fit and predict and get_params and set_params"),
    (the_class, "the factory 'the_class' returned the class DecisionTreeClassifier, not an instance"),
    (failing, "fit raised KeyError: 'no such file'"),
    (without_probabilities, "the factory 'without_probabilities' returned a LinearSVC without predict_proba: wrap"),
    (regression, "the factory 'regression' returned a Ridge without predict_proba"),
    (raising, "fit raised ValueError: income must not be negative"),
    (named, "the fitted Named has the classes_ ['refused', 'granted']"),
    (classless, "the fitted Classless has no classes_; it was fitted on the class codes [0, 1]"),
]


@pytest.mark.parametrize(("factory", "why"), WRONG, ids=[factory.__name__ for factory, _ in WRONG])
def test_a_wrong_estimator_is_one_sentence_of_the_checks(factory: Callable[[int], Any], why: str) -> None:
    report = check_model(ModelEntry(name="mine", family=SklearnFamily(factory)))
    (failure,) = report.failures
    assert failure.check == "is-complete"
    assert failure.why.startswith(why)
    assert not re.search(r"\.\s", failure.why)  # one sentence


@pytest.mark.parametrize("call", ["fit", "tune"])
def test_training_rows_of_one_class_are_refused(call: str) -> None:
    X, y = table()
    family: ModelFamily = SklearnFamily(tree, {"max_depth": [1, 2]})()
    arguments = [X, np.ones_like(y), SPACE, *([{"max_depth": 1}] if call == "fit" else [])]
    with pytest.raises(ModelError, match="all 90 training rows have class 1; a model needs rows of two classes"):
        getattr(family, call)(*arguments)
