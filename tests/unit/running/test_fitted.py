"""Tuned and fitted models: where they come from, and which are refused."""

from __future__ import annotations

import json
import os
import stat
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
    FittedModels,
    TunedCache,
    TunedRow,
    eligible_points,
    only_choice,
    read_table,
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
    model = FittedModels(tmp_path).get(toy, 0, ENTRY, family)
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
        (50.0, 2, "never predicts the target class 'maybe' on the 10 rows of 'toy'"),
        (200.0, 1, "predicts class 'no' for all 10 rows of 'toy'"),
        (55.0, 1, "predicts the target class 'yes' for all 4 test rows of 'toy'"),
    ],
)
def test_a_model_that_leaves_nothing_to_do_is_refused(threshold: float, target: int, message: str) -> None:
    fold = Fold(train=np.arange(0, 6), test=np.array([6, 7, 8, 9]))
    toy = Dataset("toy", data(10).X, np.arange(10) % 3, SPACE, target, ("no", "yes", "maybe"))
    with pytest.raises(ModelError, match=message):
        reject_pointless(Step(threshold), toy, fold)


def test_a_useful_model_is_accepted() -> None:
    reject_pointless(Step(75.0), data(10), Fold(train=np.arange(0, 6), test=np.array([6, 7, 8, 9])))


def test_a_table_is_sorted_and_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    names = [("b", "x", 0), ("a", "x", 1), ("a", "x", 0), ("a", "w", 3)]
    rows = [
        TunedRow(f"k{i}", model, name, fold, {"m": None}, 0.1, 0.2, "1") for i, (model, name, fold) in enumerate(names)
    ]
    write_table(path, rows)
    assert list(read_table(path)) == ["k3", "k2", "k1", "k0"]
    assert read_table(path) == {row.key: row for row in rows}
    assert len(path.read_text().splitlines()) == len(rows) + 2  # a line a row, so that changes are readable


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"key": "x"}]', "\x00"])
def test_a_broken_table_is_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=r"tuned.json is no table of tuned hyper-parameters.*cfbench tune --output"):
        read_table(path)


def test_a_table_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert read_table(tmp_path / "tuned.json") == {}


def test_the_cache_keeps_a_private_file_a_row(tmp_path: Path) -> None:
    rows = [TunedRow(f"k{i}", "m", "d", i, {"m": None, "rate": 1e-4}, 0.1, 0.2, "1") for i in range(3)]
    for row in rows:
        TunedCache(tmp_path).add(row)
    assert [TunedCache(tmp_path).get(row.key) for row in rows] == rows
    assert TunedCache(tmp_path).get("k3") is None
    files = list((tmp_path / "tuned").iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_row_under_another_key_is_not_believed(tmp_path: Path) -> None:
    cache = TunedCache(tmp_path)
    cache.add(TunedRow("k0", "m", "d", 0, {}, 0.1, 0.2, "1"))
    (tmp_path / "tuned" / "k0.json").rename(tmp_path / "tuned" / "k1.json")
    assert cache.get("k1") is None


def test_only_a_grid_of_one_point_leaves_no_choice() -> None:
    assert only_choice({}) == {}
    assert only_choice({"a": [None], "b": [2]}) == {"a": None, "b": 2}
    assert only_choice({"a": [None], "b": [2, 3]}) is None
    with pytest.raises(ModelError, match="gives hyper-parameter 'b' no value"):
        only_choice({"a": [1, 2], "b": []})


def test_a_pipe_is_no_table(tmp_path: Path) -> None:
    path = tmp_path / "tuned.json"
    os.mkfifo(path)
    with pytest.raises(ModelError, match=r"tuned.json is no table of tuned hyper-parameters \(it is no file\)"):
        read_table(path)
