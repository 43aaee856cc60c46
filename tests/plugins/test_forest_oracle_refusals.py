"""Forests that the fast oracle does not know: refused with the reason, and asked as they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from cfbench.errors import UnavailableError
from cfbench.problem.oracle import checked_oracle
from cfbench.space import FloatArray
from cfbench_models.forest import oracle as forest_oracle
from cfbench_models.forest import tables as flat_trees
from cfbench_models.forest.family import ForestModel
from cfbench_models.shared.encoding import fit_encoding
from tests.plugins.fitted_forests import SPACE, forest, table


def refit(classifier: Any, X: FloatArray | None = None, y: Any = None) -> ForestModel:
    """A forest model around another classifier, fitted on the usual rows unless others are given."""
    rows, classes = table(150, seed=2)
    encoding = fit_encoding(rows, SPACE, standardise=False)
    return ForestModel(
        encoding, classifier.fit(encoding.transform(rows) if X is None else X, classes if y is None else y), 2
    )


def with_missing_values() -> ForestModel:
    columns = np.random.default_rng(0).uniform(0, 1, (150, 8))
    columns[::2] = np.nan
    return refit(RandomForestClassifier(3, random_state=0), columns, np.arange(150) % 2)


def with_counts() -> ForestModel:
    model = refit(RandomForestClassifier(3, random_state=0))
    tree = model.classifier.estimators_[1].tree_
    names = ("children_left", "threshold", "node_count")
    counted = SimpleNamespace(value=tree.value * 150, **{name: getattr(tree, name) for name in names})
    model.classifier.estimators_[1].tree_ = counted
    return model


def with_another_member() -> ForestModel:
    model = refit(RandomForestClassifier(3, random_state=0))
    model.classifier.estimators_[1] = ExtraTreesClassifier(1, random_state=0).fit([[0], [1]], [0, 1]).estimators_[0]
    return model


UNKNOWN = {
    "the classifier is a ExtraTreesClassifier, not a RandomForestClassifier": lambda: refit(ExtraTreesClassifier(3)),
    "a member of the forest is no DecisionTreeClassifier": with_another_member,
    "the forest has 2 outputs": lambda: refit(RandomForestClassifier(3), y=np.arange(300).reshape(150, 2) % 3),
    "the forest was grown under monotonic constraints": lambda: refit(
        RandomForestClassifier(3, monotonic_cst=[1, 0, 0, 0, 0, 0, 0, 0])
    ),
    "a split tells missing values from all others": with_missing_values,
    "the leaves hold counts, whose sums may overflow, instead of shares": with_counts,
}


@pytest.mark.parametrize("reason", UNKNOWN)
@pytest.mark.parametrize("fast", [True, False])
def test_what_it_does_not_know_is_refused_with_the_reason(
    reason: str, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not fast:
        monkeypatch.setattr(forest_oracle, "compiled_queries", lambda: None)
    with pytest.raises(UnavailableError, match=reason):
        UNKNOWN[reason]().oracle()


def test_a_forest_of_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flat_trees, "MOST_NODES", 100)
    with pytest.raises(UnavailableError, match=r"the forest has \d+ nodes, more than 100"):
        forest(50, 2, 8).oracle()


def test_standardised_columns_are_refused() -> None:
    model = forest(50, 2, 8)
    X, _ = table(150, seed=2)
    standardised = ForestModel(fit_encoding(X, SPACE, standardise=True), model.classifier, 2)
    with pytest.raises(UnavailableError, match="the forest's columns are standardised"):
        standardised.oracle()


def test_a_run_goes_on_with_the_model_itself(caplog: pytest.LogCaptureFixture) -> None:
    model = refit(ExtraTreesClassifier(3))
    assert checked_oracle(model, SPACE, table(150, seed=2)[0]) is model
    assert "the fast oracle of this model is not used: the classifier is a ExtraTreesClassifier" in caplog.text
