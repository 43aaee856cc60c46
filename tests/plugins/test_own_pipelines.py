"""The fast oracle of a user's own pipeline gives the pipeline's classes, next to its boundaries, too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind, ModelEntry
from cfbench.models import Encoding
from cfbench.models.own_model import CoreOracle, NativeOracle, OwnModel, of_dataset
from cfbench.problem.oracle import MemoOracle, objection, random_rows, rows_differ
from cfbench.registry.registry import build_registry
from cfbench.space import Spelling

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, -3, 7),
        FeatureSpec("year", Kind.NUMERICAL, 1950, 2020),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 3, categories=("red", "green", "blue", "grey")),
        FeatureSpec("room", Kind.CATEGORICAL, 0, 2, categories=("small", "large", "none")),
        FeatureSpec("yes", Kind.CATEGORICAL, 0, 1, categories=("Y", "N")),
    )
)
CELLS = ((), (), ("red", "green", "blue", "grey"), ("7", "2", "0"), ("Y", "N"))
TEXT = ["colour", "yes"]


def data() -> Dataset:
    rng = np.random.default_rng(3)
    X = random_rows(SPACE, 300, rng)
    scores = X[:, 0] + (X[:, 1] - 1985) / 20 + 2 * (X[:, 2] == 2) - 2 * (X[:, 3] == 1) * (X[:, 4] == 0)
    y = (scores + rng.normal(0, 0.5, 300) > 2).astype(np.int64)
    return Dataset("loans", X, y, SPACE, 1, ("refused", "granted"), spelling=Spelling(CELLS, ("no", "yes"), "loan"))


def frame(dataset: Dataset) -> pd.DataFrame:
    """The table as `pandas.read_csv` reads it."""
    columns: dict[str, Any] = {}
    for i, feature in enumerate(SPACE.features):
        codes = dataset.X[:, i].astype(int)
        columns[feature.name] = dataset.X[:, i] if not CELLS[i] else [CELLS[i][code] for code in codes]
    columns["room"] = [int(cell) for cell in columns["room"]]
    return pd.DataFrame(columns)


def one_hot(rest: Any = "passthrough", **options: Any) -> Any:
    return make_column_transformer((OneHotEncoder(**options), TEXT), remainder=rest)


def scaled() -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((numbers, ["income", "year"]), (OneHotEncoder(), ["room", *TEXT]))


def ordinal() -> Any:
    return make_column_transformer(
        (OrdinalEncoder(), make_column_selector(dtype_include="str")), remainder="passthrough"
    )


NATIVE, RECODED, COLUMNS, MEMO = "native", "recoded", "columns", "memo"
FOREST = RandomForestClassifier(20, random_state=0)
BOOSTING = HistGradientBoostingClassifier(max_iter=20, random_state=0)
NETWORK = MLPClassifier((8,), max_iter=60, random_state=0)

PIPELINES: dict[str, tuple[Callable[[], Any], str]] = {
    "forest behind a one-hot encoder": (lambda: make_pipeline(scaled(), FOREST), NATIVE),
    "forest behind an ordinal encoder": (lambda: make_pipeline(ordinal(), FOREST), RECODED),
    "extra trees, twice nested": (
        lambda: make_pipeline(make_pipeline(scaled()), make_pipeline(ExtraTreesClassifier(10, random_state=0))),
        NATIVE,
    ),
    "tree of a search": (
        lambda: GridSearchCV(make_pipeline(scaled(), DecisionTreeClassifier(random_state=0)), {}, cv=2),
        NATIVE,
    ),
    "boosting": (lambda: make_pipeline(one_hot(sparse_output=False, drop="if_binary"), BOOSTING), RECODED),
    "boosting on scaled columns": (lambda: make_pipeline(scaled(), RobustScaler(), BOOSTING), COLUMNS),
    "boosting on columns between 0 and 1": (lambda: make_pipeline(ordinal(), MinMaxScaler(), BOOSTING), COLUMNS),
    "regression": (lambda: make_pipeline(scaled(), LogisticRegression()), NATIVE),
    "network": (lambda: make_pipeline(scaled(), NETWORK), NATIVE),
    "network on all columns scaled": (
        lambda: make_pipeline(one_hot(), StandardScaler(with_mean=False), NETWORK),
        COLUMNS,
    ),
    "components": (lambda: make_pipeline(scaled(), PCA(4, random_state=0), LogisticRegression()), MEMO),
    "unknown": (lambda: make_pipeline(scaled(), SVC()), MEMO),
}


def own(estimator: Any, dataset: Dataset) -> OwnModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the network has not converged
        estimator.fit(frame(dataset), np.array(["no", "yes"])[dataset.y])
    entry = ModelEntry(name="mine", fitted=estimator)
    return of_dataset(entry, dataset, np.arange(dataset.n), build_registry().families)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_oracle_of_a_pipeline_answers_as_the_pipeline_does(name: str) -> None:
    make, way = PIPELINES[name]
    dataset = data()
    model = own(make(), dataset)
    oracle = model.oracle()
    compare = objection if model.has_probabilities else rows_differ
    assert compare(oracle, model, SPACE, dataset.X) == ""
    assert isinstance(oracle, MemoOracle) == (way == MEMO), model.why_no_core
    if way == NATIVE and name != "regression":  # which has no way of its own to neighbours
        assert isinstance(oracle, NativeOracle)
    if model.core is not None:
        assert bool(model.core.steps) == (way == COLUMNS)
        assert bool(model.core.recoded) == (way == RECODED)


@pytest.mark.parametrize("library", ["xgboost.XGBClassifier", "lightgbm.LGBMClassifier", "catboost.CatBoostClassifier"])
def test_boosted_ensembles_of_other_libraries_are_read_in_a_pipeline(library: str) -> None:
    module, _, name = library.partition(".")
    options = {
        "xgboost": {"n_jobs": 1},
        "lightgbm": {"verbose": -1, "n_jobs": 1},
        "catboost": {"verbose": 0, "allow_writing_files": False},
    }
    classifier = getattr(pytest.importorskip(module), name)(n_estimators=10, **options[module])
    dataset = data()
    model = own(make_pipeline(one_hot(sparse_output=False), classifier), dataset) if module != "xgboost" else None
    if model is None:  # it takes classes 0 and 1 alone
        estimator = make_pipeline(one_hot(sparse_output=False), classifier).fit(frame(dataset), dataset.y)
        model = of_dataset(
            ModelEntry(name="mine", fitted=estimator), dataset, np.arange(300), build_registry().families
        )
    oracle = model.oracle()
    assert isinstance(oracle, CoreOracle), model.why_no_core
    assert objection(oracle, model, SPACE, dataset.X) == ""


def test_the_last_value_below_a_threshold_is_exact_behind_a_scaler() -> None:
    rng = np.random.default_rng(0)
    one = np.zeros(1, dtype=np.int64)
    for mean, scale in ((1985.3, 20.07), (-0.1, 1e-7), (1e9, 3.0), (0.0, 7.0)):
        encoding = Encoding(1, one, one, (), np.array([mean]), np.array([scale]))
        ends = np.concatenate([rng.normal(size=50), [0.0, -0.0, 1e300, -1e300]])
        last = encoding.last_up_to(0, ends)
        after = np.nextafter(last, np.inf)
        assert ((last - mean) / scale <= ends).all()
        assert ((after - mean) / scale > ends).all()
