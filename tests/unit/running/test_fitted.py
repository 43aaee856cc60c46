"""Tuned and fitted models: where they come from, and which are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

from cfbench import Dataset, FeatureSpace, FeatureSpec, Kind, ModelEntry, ModelFamily
from cfbench.caches import store_object
from cfbench.errors import ModelError
from cfbench.problem import Oracle
from cfbench.running.fitted import (
    MODELS_KEPT,
    FittedModels,
    TunedRow,
    eligible_points,
    reject_pointless,
    tune,
    tuning_key,
    write_table,
)
from cfbench.space import FloatArray, IntArray
from cfbench.space.dataset import Fold, split

SPACE = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0.0, 100.0),))
CALLS: list[str] = []


class Step:
    """Predicts class 1 from a threshold on."""

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def predict(self, Z: FloatArray) -> IntArray:
        return (Z[:, 0] >= self.threshold).astype(np.int64)

    def predict_proba(self, Z: FloatArray) -> FloatArray:
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self) -> str:
        return str(self.threshold)

    def oracle(self) -> Oracle:
        return self


class StepFamily(ModelFamily):
    """A family with one hyper-parameter, the threshold."""

    threshold: float | None = None

    def grid(self) -> dict[str, list[Any]]:
        return {"threshold": [10.0, 40.0, 90.0] if self.threshold is None else [self.threshold]}

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        CALLS.append("tune")
        right = [np.mean(Step(value).predict(X) == y) for value in self.grid()["threshold"]]
        return {"threshold": self.grid()["threshold"][int(np.argmax(right))]}

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Step:
        CALLS.append("fit")
        return Step(hyperparameters["threshold"])


class OffGrid(StepFamily):
    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        return {"threshold": 11.0}


ENTRY = ModelEntry(name="step", family=StepFamily)


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()


def data(n: int = 50, border: float = 0.4, target: int = 1) -> Dataset:
    """Rows 0..n-1 of one feature in [0, 100); class 1 from `border` on, except for every tenth row."""
    X = (np.arange(n) * 100.0 / n)[:, np.newaxis]
    y = (X[:, 0] >= 100 * border).astype(np.int64)
    y[::10] = 1 - y[::10]
    return Dataset("toy", X, y, SPACE, target, ("no", "yes"))


def test_tuning_measures_its_choice() -> None:
    toy = data()
    row = tune(toy, 2, ENTRY, StepFamily())
    rows = split(toy, 2)
    wrong = np.arange(50) % 10 == 0  # the rows whose class was turned round
    assert row.hyperparameters == {"threshold": 40.0}
    assert row.test_accuracy == pytest.approx(1 - wrong[rows.test].mean())
    assert row.cv_accuracy == pytest.approx(1 - wrong[rows.train].mean())
    assert (row.model, row.dataset, row.fold, row.sklearn) == ("step", "toy", 2, sklearn.__version__)


def test_a_choice_off_the_grid_is_refused() -> None:
    with pytest.raises(ModelError, match=r"'step' tuned to \{'threshold': 11.0\}, which is not in its grid"):
        tune(data(), 0, ENTRY, OffGrid())


def test_too_few_rows_to_tune_are_refused_with_the_settings_to_give() -> None:
    y = np.repeat(np.array([0, 1], dtype=np.int64), 5)
    tiny = Dataset("tiny", np.arange(10.0)[:, np.newaxis], y, SPACE, 1, ("no", "yes"))
    with pytest.raises(ModelError, match=r"'tiny': no class has 5 training rows.*give every setting.*threshold"):
        tune(tiny, 0, ENTRY, StepFamily())


def test_the_key_depends_on_all_that_tuning_depends_on() -> None:
    toy, family = data(), StepFamily()
    keys = [
        tuning_key(toy, 0, ENTRY, family),
        tuning_key(toy, 1, ENTRY, family),
        tuning_key(data(target=0), 0, ENTRY, family),
        tuning_key(data(60), 0, ENTRY, family),
        tuning_key(toy, 0, replace(ENTRY, version="2"), family),
        tuning_key(toy, 0, replace(ENTRY, name="stair"), family),
        tuning_key(toy, 0, ENTRY, StepFamily(threshold=10.0)),
    ]
    assert len(set(keys)) == len(keys)
    assert tuning_key(replace(toy, name="renamed"), 0, ENTRY, StepFamily()) == keys[0]


def test_nothing_is_tuned_where_nothing_is_to_choose(tmp_path: Path) -> None:
    models = FittedModels(tmp_path)
    assert models.hyperparameters(data(), 0, ENTRY, StepFamily(threshold=7.0)) == {"threshold": 7.0}
    assert CALLS == []


def test_an_unknown_key_is_tuned_once_and_then_known_to_other_processes(tmp_path: Path) -> None:
    assert FittedModels(tmp_path).hyperparameters(data(), 0, ENTRY, StepFamily()) == {"threshold": 40.0}
    assert CALLS.count("tune") == 1
    assert FittedModels(tmp_path).hyperparameters(data(), 0, ENTRY, StepFamily()) == {"threshold": 40.0}
    assert CALLS.count("tune") == 1


def test_the_entrys_table_comes_before_the_cache_and_before_tuning(tmp_path: Path) -> None:
    toy = data()
    key = tuning_key(toy, 0, ENTRY, StepFamily())
    table = tmp_path / "tuned.json"
    write_table(table, [TunedRow(key, "step", "toy", 0, {"threshold": 90.0}, 0.5, 0.5, "1")])
    FittedModels(tmp_path).hyperparameters(toy, 0, ENTRY, StepFamily())
    CALLS.clear()
    entry = replace(ENTRY, tuned=table)
    assert FittedModels(tmp_path).hyperparameters(toy, 0, entry, StepFamily()) == {"threshold": 90.0}
    assert CALLS == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"key": "x"}'])
def test_a_damaged_row_in_the_cache_is_reported_and_tuned_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    FittedModels(tmp_path).hyperparameters(data(), 0, ENTRY, StepFamily())
    (path,) = (tmp_path / "tuned").iterdir()
    path.write_bytes(content)
    assert FittedModels(tmp_path).hyperparameters(data(), 0, ENTRY, StepFamily()) == {"threshold": 40.0}
    assert "is damaged" in caplog.text
    assert json.loads(path.read_bytes())["hyperparameters"] == {"threshold": 40.0}


def test_a_model_is_fitted_once_and_then_loaded(tmp_path: Path) -> None:
    toy, family = data(), StepFamily(threshold=40.0)
    first = FittedModels(tmp_path)
    model = first.get(toy, 0, ENTRY, family)
    assert first.get(toy, 0, ENTRY, family) is model
    again = FittedModels(tmp_path).get(toy, 0, ENTRY, family)
    assert CALLS == ["fit"]
    assert again.fingerprint() == model.fingerprint() == "40.0"


def test_what_takes_its_time_is_told_before_it_is_begun(tmp_path: Path) -> None:
    told: list[str] = []
    FittedModels(tmp_path, told.append).get(data(), 0, ENTRY, StepFamily())
    assert told == [
        "tuning step on toy, fold 0; this is done once",
        "fitting step on toy, fold 0; this is done once",
    ]
    FittedModels(tmp_path, told.append).get(data(), 0, ENTRY, StepFamily())
    assert len(told) == 2


def test_another_fold_setting_or_library_is_another_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy, models = data(), FittedModels(tmp_path)
    models.get(toy, 0, ENTRY, StepFamily(threshold=40.0))
    models.get(toy, 1, ENTRY, StepFamily(threshold=40.0))
    models.get(toy, 0, ENTRY, StepFamily(threshold=41.0))
    monkeypatch.setattr(sklearn, "__version__", "0.0")
    models.get(toy, 0, ENTRY, StepFamily(threshold=40.0))
    assert CALLS == ["fit"] * 4


def test_few_models_are_kept_in_memory(tmp_path: Path) -> None:
    toy, models = data(), FittedModels(tmp_path)
    families = [StepFamily(threshold=float(i)) for i in range(MODELS_KEPT + 1)]
    fitted = [models.get(toy, 0, ENTRY, family) for family in families]
    assert models.get(toy, 0, ENTRY, families[-1]) is fitted[-1]
    assert models.get(toy, 0, ENTRY, families[0]) is not fitted[0]  # loaded again from the cache
    assert CALLS == ["fit"] * len(families)


@pytest.mark.parametrize("damage", ["cut", "foreign"])
def test_a_damaged_model_is_reported_and_fitted_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    toy, family = data(), StepFamily(threshold=40.0)
    FittedModels(tmp_path).get(toy, 0, ENTRY, family)
    (path,) = (tmp_path / "models").iterdir()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    else:
        store_object(path, "no model at all")
    for _ in range(2):
        assert FittedModels(tmp_path).get(toy, 0, ENTRY, family).fingerprint() == "40.0"
    assert CALLS == ["fit"] * 2
    assert ("is damaged" in caplog.text) == (damage == "cut")


def test_eligible_points_are_the_unfavourable_rows_in_the_order_given() -> None:
    toy, rows = data(10), np.array([7, 9, 6, 8])  # the feature is 0, 10, .. 90
    np.testing.assert_array_equal(eligible_points(Step(75.0), toy, rows), [7, 6])
    np.testing.assert_array_equal(eligible_points(Step(75.0), replace(toy, target=0), rows), [9, 8])


@pytest.mark.parametrize(
    ("threshold", "target", "message"),
    [
        (-1.0, 1, "predicts class 'yes' for all 10 rows of 'toy'"),
        (200.0, 1, "predicts class 'no' for all 10 rows of 'toy'"),
        (55.0, 1, "predicts the target class 'yes' for all 4 test rows of 'toy'"),
    ],
)
def test_a_model_that_leaves_nothing_to_do_is_refused(threshold: float, target: int, message: str) -> None:
    fold = Fold(train=np.arange(0, 6), test=np.array([6, 7, 8, 9]))
    with pytest.raises(ModelError, match=message):
        reject_pointless(Step(threshold), data(10, target=target), fold)


def test_a_model_that_never_predicts_the_target_among_three_classes_is_refused() -> None:
    toy = Dataset("toy", data(10).X, np.arange(10) % 3, SPACE, 2, ("low", "middle", "high"))
    fold = Fold(train=np.arange(0, 6), test=np.array([6, 7, 8, 9]))
    with pytest.raises(ModelError, match="never predicts the target class 'high' on the 10 rows"):
        reject_pointless(Step(50.0), toy, fold)


def test_a_useful_model_is_accepted() -> None:
    reject_pointless(Step(75.0), data(10), Fold(train=np.arange(0, 6), test=np.array([6, 7, 8, 9])))


class Doubtful(Step):
    """Brings an oracle that answers below the threshold as it answers above."""

    def oracle(self) -> Oracle:
        CALLS.append("oracle")
        return Step(self.threshold - 1)


class DoubtfulFamily(StepFamily):
    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Step:
        return Doubtful(hyperparameters["threshold"])


def test_an_oracle_is_held_against_its_model_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    models = FittedModels(tmp_path)
    dataset, family = data(), DoubtfulFamily(threshold=40.0)
    entry = ModelEntry(name="doubtful", family=DoubtfulFamily)
    oracle = models.oracle(dataset, 0, entry, family)
    assert oracle is models.get(dataset, 0, entry, family)  # the model answers for itself
    assert models.oracle(dataset, 0, entry, family) is oracle
    assert CALLS == ["oracle"]
    assert "the fast oracle of this model is not used" in caplog.text


def test_an_oracle_that_keeps_its_promise_is_used(tmp_path: Path) -> None:
    models = FittedModels(tmp_path)
    family = StepFamily(threshold=40.0)
    assert models.oracle(data(), 0, ENTRY, family) is models.get(data(), 0, ENTRY, family)
