"""Cases, models and searchers that cannot be explained are refused, each with what would do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cfbench
from cfbench import Need
from tests.unit.explaining.loans import Granting, buy, entry, explained


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([20, 40], "x has 2 values, and the space has 3 features: income, age, home"),
        ({"income": 20, "age": 40}, "x has no value for home"),
        ({"income": 20, "age": 40, "hom": 1}, "unknown feature 'hom'. Did you mean 'home'?"),
        ({"income": 20, "age": 40, "home": "ownz"}, "unknown category of home 'ownz'. Did you mean 'owns'?"),
        ([20, "forty", 0], "age = 'forty' is not a number"),
        ([200, 40, 0], r"income = 200\.0 is outside \[0, 100\]"),
        ([20, 40, 0.5], r"home = 0\.5 is no category code"),
        ([np.nan, 40, 0], "income = nan is not finite"),
    ],
)
def test_a_case_that_does_not_fit_is_refused(x: Any, words: str) -> None:
    with pytest.raises(cfbench.CfbenchError, match=words):
        explained(entry(buy), x)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "refused"}, "x is of class 'refused' already"),
        ({"model": Granting(), "target": "grantd"}, "unknown class of the model 'grantd'. Did you mean 'granted'?"),
        ({"model": "a model"}, "'a model' cannot be queried: give a fitted model that has `predict`"),
        ({"model": Granting}, "cannot be queried"),
        ({"model": lambda rows: rows}, r"for 1 rows the model returned shape \(1, 3\)"),
        ({"model": lambda rows: rows[:, 0] / 100}, r"the model returned np.float64\(0.2\), which is not a class"),
        ({"objective": "nne"}, "unknown objective 'nne'. Did you mean 'none'?"),
        ({"searcher": buy}, "searcher is function; give a registered name, or SearcherEntry"),
        ({"searcher": "cgs"}, "unknown searcher 'cgs'. Did you mean 'cogs'?"),
        ({"searcher": "cogs[population=5]"}, "unknown setting of cogs 'population'. Did you mean 'population_size'?"),
        ({"searcher": entry(buy, handles=[])}, "mine does not handle categorical features, and the space has them"),
        ({"searcher": entry(buy, handles=["categorical features"]), "constraints": True}, "does not handle constr"),
        ({"searcher": entry(buy, needs=[Need.TRAINING_DATA])}, r"mine needs training data: give training=\(X, y\)"),
        ({"searcher": entry(buy, needs=[Need.PROBABILITIES])}, "mine needs probabilities: give a model that has"),
        ({"searcher": entry(buy, needs=[Need.FOREST])}, "mine needs the model's forest, and your-model"),
        ({"training": ([[1.0]], ["granted"])}, r"training is \(X, y\) with shapes \(n, 3\) and \(n,\), not \(1, 1\)"),
    ],
)
def test_what_cannot_be_explained_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(cfbench.CfbenchError, match=words):
        explained(**{"searcher": entry(buy), **changes})
