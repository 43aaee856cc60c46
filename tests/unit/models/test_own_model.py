"""A user's own fitted model: how it is given rows, how its classes are matched, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind, ModelEntry
from cfbench.errors import ModelError
from cfbench.models.own_model import AS_CODES, Labels, OwnModel, of_dataset
from cfbench.problem.oracle import MemoOracle
from cfbench.space import FloatArray, Spelling

SPACE = FeatureSpace(
    (
        FeatureSpec("income", Kind.NUMERICAL, 0, 100),
        FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue")),
        FeatureSpec("room", Kind.CATEGORICAL, 0, 2, categories=("small", "large", "none")),
    )
)
SPELLING = Spelling(((), ("r", "g", "b"), ("3", "1", "0")), ("no", "yes"), "loan")
"""The table writes rooms as numbers, not in the order of their codes."""


def loans() -> Dataset:
    """Rows that are granted a loan where income + 40 [colour = blue] + 20 [room = large] + 9 [room = none] > 70."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(0, 100, 200), rng.integers(0, 3, 200), rng.integers(0, 3, 200)])
    sums = X[:, 0] + 40 * (X[:, 1] == 2) + 20 * (X[:, 2] == 1) + 9 * (X[:, 2] == 2)
    y = (sums > 70).astype(np.int64)
    return Dataset("loans", X, y, SPACE, 1, ("refused", "granted"), spelling=SPELLING)


def table(dataset: Dataset) -> pd.DataFrame:
    """The table as `pandas.read_csv` reads it."""
    codes = dataset.X.astype(int)
    return pd.DataFrame(
        {
            "income": dataset.X[:, 0],
            "colour": [("r", "g", "b")[code] for code in codes[:, 1]],
            "room": [(3, 1, 0)[code] for code in codes[:, 2]],
            "loan": [("no", "yes")[code] for code in dataset.y],
        }
    )


class Rule:
    """Knows the rule, from a data frame in the table's own columns and cells."""

    def predict(self, rows: pd.DataFrame) -> list[str]:
        sums = rows["income"] + 40 * (rows["colour"] == "b") + 20 * (rows["room"] == 1) + 9 * (rows["room"] == 0)
        return ["yes" if total > 70 else "no" for total in sums]


def own(estimator: object, dataset: Dataset | None = None) -> OwnModel:
    dataset = dataset or loans()
    entry = ModelEntry(name="mine", fitted=estimator, version="x")
    return of_dataset(entry, dataset, np.arange(dataset.n))


def test_a_model_is_given_a_frame_in_the_table_s_own_cells() -> None:
    model = own(Rule())
    dataset = loans()
    assert model.predict(dataset.X).tolist() == dataset.y.tolist()
    assert model.form.name == "data frame, categories as in the table"
    assert model.labels.how == "as the table writes them"
    rows = model.form.rows(dataset.X[:5])
    pd.testing.assert_frame_equal(rows, table(dataset).drop(columns="loan").iloc[:5])


def test_a_pipeline_fitted_on_the_table_answers_as_it_does_itself() -> None:
    dataset = loans()
    frame = table(dataset)
    encoder = make_column_transformer((OneHotEncoder(), ["colour", "room"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, LogisticRegression(max_iter=500)).fit(frame.drop(columns="loan"), frame["loan"])
    model = own(pipeline)
    wanted = pipeline.predict(frame.drop(columns="loan")) == "yes"
    assert model.predict(dataset.X).tolist() == wanted.astype(int).tolist()
    np.testing.assert_allclose(model.predict_proba(dataset.X), pipeline.predict_proba(frame.drop(columns="loan")))
    assert pickle.loads(pickle.dumps(model)).fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("rows", "form"),
    [
        (lambda data: data.X, "array, categories as codes"),
        (lambda data: np.column_stack([data.X[:, 0], data.X[:, 1], table(data)["room"]]), None),
        (lambda data: pd.DataFrame(data.X, columns=SPACE.names), "data frame, categories as codes"),
    ],
)
def test_the_form_of_categories_is_found_by_agreement(rows: Callable[[Dataset], Any], form: str | None) -> None:
    dataset = loans()
    numeric = replace(dataset, spelling=replace(SPELLING, categories=((), ("0", "1", "2"), ("3", "1", "0"))))
    tree = DecisionTreeClassifier(random_state=0).fit(rows(dataset), table(dataset)["loan"])
    model = own(tree, numeric)
    assert model.form.name == (form or "array, categories as in the table")
    assert model.predict(dataset.X).tolist() == dataset.y.tolist()


@pytest.mark.parametrize(
    ("labels", "how"),
    [
        (("refused", "granted"), "by their labels"),
        ((0, 1), AS_CODES),
        ((False, True), AS_CODES),
        ((0.0, 1.0), AS_CODES),
    ],
)
def test_classes_are_matched_by_label(labels: tuple[object, object], how: str) -> None:
    dataset = loans()
    tree = DecisionTreeClassifier().fit(dataset.X, np.array(labels)[dataset.y])
    model = own(tree)
    assert model.labels.how == how
    assert model.predict(dataset.X).tolist() == dataset.y.tolist()


def test_codes_in_another_order_than_the_annotation_are_refused() -> None:
    dataset = loans()
    with pytest.raises(ModelError, match="agree better with the labels in another order"):
        own(DecisionTreeClassifier().fit(dataset.X, 1 - dataset.y))


class Fails:
    """Answers as `how` says."""

    def __init__(self, how: Callable[[pd.DataFrame], Any]) -> None:
        self.how = how

    def predict(self, rows: pd.DataFrame) -> Any:
        return self.how(rows)


def _raises(rows: pd.DataFrame) -> list[str]:
    raise ValueError("no such\n colour")


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (_raises, r"model 'mine': the model refused the rows \(data frame, .*: ValueError: no such colour\)"),
        (lambda rows: ["no"], r"for 200 rows the model returned shape \(1,\), not \(200,\)"),
        (lambda rows: ["maybe", *["no"] * (len(rows) - 1)], "classes are 'maybe', 'no'; those .* are 'no', 'yes'"),
        (lambda rows: np.random.default_rng().choice(["no", "yes"], len(rows)), "answers differ between two calls"),
    ],
)
def test_a_model_that_cannot_be_one_is_refused_in_a_sentence(how: Callable[[Any], Any], sentence: str) -> None:
    with pytest.raises(ModelError, match=sentence):
        own(Fails(how))


def test_columns_that_the_data_set_lacks_are_named() -> None:
    dataset = loans()
    frame = table(dataset).assign(age=30.0)
    tree = DecisionTreeClassifier().fit(frame[["income", "age"]], frame["loan"])
    with pytest.raises(ModelError, match="not annotated: 'age'; the features are income, colour, room"):
        own(tree)
    fewer = own(DecisionTreeClassifier(random_state=0).fit(frame[["income"]], frame["loan"]))
    assert fewer.form.columns == ("income",)


class Counts(Rule):
    """Counts the rows that it is given, and turns all answers around when it is told to."""

    def __init__(self) -> None:
        self.rows = 0
        self.turned = False

    def predict(self, rows: pd.DataFrame) -> list[str]:
        self.rows += len(rows)
        answers = super().predict(rows)
        return [{"no": "yes", "yes": "no"}[answer] for answer in answers] if self.turned else answers


def test_equal_rows_are_classified_once_and_a_changed_answer_is_noticed() -> None:
    dataset, counts = loans(), Counts()
    oracle = own(counts).oracle()
    assert isinstance(oracle, MemoOracle)
    before = counts.rows
    Z = np.repeat(dataset.X[:10], 3, axis=0)
    assert oracle.predict(Z).tolist() == np.repeat(dataset.y[:10], 3).tolist()
    assert counts.rows - before == 10
    assert oracle.predict(Z[:4]).tolist() == np.repeat(dataset.y[:10], 3)[:4].tolist()
    assert counts.rows - before == 10
    assert oracle.change() == ""
    oracle.predict(Z)
    counts.turned = True
    # 64 probes, and the last row of the one query since the last look.
    assert oracle.change() == (
        "the model has changed its answers: 65 of 65 rows that were queried again got another class"
    )
    assert oracle.predict(Z[:1]).tolist() == [1 - dataset.y[0]]


def test_a_value_that_is_no_category_counts_as_the_nearest_one() -> None:
    model = own(Rule())
    Z: FloatArray = np.array([[50.0, 1.6, 0.0], [50.0, 7.0, 0.0], [50.0, -3.0, 0.0]])
    assert model.predict(Z).tolist() == [1, 1, 0]
    assert model.oracle().predict(Z).tolist() == [1, 1, 0]
    assert Z[1, 1] == 7.0


def test_classes_of_several_types_are_matched_or_refused_in_a_sentence() -> None:
    labels = Labels({"1": 0, "yes": 1}, "as the table writes them")
    assert labels.codes(np.array([1, "yes", 1.0], dtype=object)).tolist() == [0, 1, 0]
    with pytest.raises(ModelError, match="the model answered the class 'nan'; known are 1, yes"):
        labels.codes(np.array(["yes", float("nan")], dtype=object))
