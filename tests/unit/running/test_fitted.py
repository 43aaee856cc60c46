"""Tuned and fitted models: where they come from, and which are refused."""

from __future__ import annotations

import importlib
import json
import os
import stat
import sys
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
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.running import fitted
from cfbench.running.fitted import (
    FittedModels,
    TunedCache,
    TunedRow,
    code_of,
    eligible_points,
    grid_of,
    only_choice,
    read_table,
    reject_pointless,
    tune,
    tuning_key,
    tuning_rows,
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


def test_large_folds_are_tuned_on_a_stratified_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = data(100, border=0.75)  # classes of 70 and 30 rows: 56 and 24 in training
    received: list[IntArray] = []

    class Seen(StepFamily):
        def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
            received.append(y)
            return {"threshold": 40.0}

    assert tuning_rows(toy, 0).tolist() == split(toy, 0).train.tolist()
    monkeypatch.setattr(fitted, "MOST_TUNING_ROWS", 20)
    sample = tuning_rows(toy, 0)
    assert set(sample) <= set(split(toy, 0).train)
    assert sample.tolist() == sorted(set(sample)) == tuning_rows(toy, 0).tolist()
    assert np.bincount(toy.y[sample]).tolist() == [14, 6]
    row = tune(toy, 0, ModelEntry(name="seen", family=Seen), Seen())
    assert received[0].tolist() == toy.y[sample].tolist()
    assert row.cv_accuracy == pytest.approx(np.mean(Step(40).predict(toy.X[sample]) == toy.y[sample]))


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


class Faulty(StepFamily):
    """Raises or returns what is not allowed, in the method that `fault` names."""

    fault: str = ""

    def grid(self) -> dict[str, list[Any]]:
        if self.fault == "grid":
            raise KeyError("depth")
        return {"threshold": 4.0} if self.fault == "grid of numbers" else super().grid()  # type: ignore[dict-item]

    def tune(self, X: FloatArray, y: IntArray, space: FeatureSpace) -> dict[str, Any]:
        if self.fault == "tune":
            raise SystemExit("enough")
        return None if self.fault == "tuned to None" else super().tune(X, y, space)  # type: ignore[return-value]

    def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Step:
        if self.fault == "fit":
            raise ValueError("no convergence")
        model = super().fit(X, y, space, hyperparameters)
        if self.fault == "class":
            model.predict = lambda Z: np.full(len(Z), 7)  # type: ignore[method-assign]
        if self.fault == "predict":
            model.predict = lambda Z: 1 // 0  # type: ignore[method-assign, return-value, assignment]
        if self.fault == "pickle":
            model.extra = lambda: None  # type: ignore[attr-defined]
        return model


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("grid", r"model 'step': grid raised KeyError: 'depth' \(test_fitted\.py:\d+\)"),
        ("grid of numbers", r"grid returned \{'threshold': 4.0\}; it must return a dict of lists"),
        ("tune", r"model 'step': tune raised SystemExit: enough \(test_fitted\.py:\d+\)"),
        ("tuned to None", "model 'step' tuned to None, which is not in its grid"),
        ("fit", r"model 'step': fit raised ValueError: no convergence \(test_fitted\.py:\d+\)"),
        ("class", "model 'step': predict returned the class 7; the class codes are 0 to 1"),
        (
            "predict",
            r"model 'step': predict raised ZeroDivisionError: integer division or modulo by zero \(test_fitted\.py",
        ),
        ("pickle", r"model 'step': the fitted model cannot be pickled \(.*; define its classes at the top level"),
    ],
)
def test_a_familys_fault_is_named_with_its_method(tmp_path: Path, fault: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        FittedModels(tmp_path).get(data(), 0, ENTRY, Faulty(fault=fault))
    assert not list(tmp_path.rglob("*.pickle"))


def test_a_class_that_comes_only_for_some_rows_is_refused_before_any_search() -> None:
    toy = data()
    model = Step(40)
    model.predict = lambda Z: np.where(Z[:, 0] == 98, 5, Step(40).predict(Z))  # type: ignore[method-assign]
    with pytest.raises(ModelError, match="not sound on the rows of 'toy': predict returned the class 5"):
        reject_pointless(model, toy, split(toy, 0))


def test_what_can_be_fitted_needs_no_other_method() -> None:
    class Plain(ModelFamily):
        def fit(self, X: FloatArray, y: IntArray, space: FeatureSpace, hyperparameters: Mapping[str, Any]) -> Step:
            return Step(40)

    entry = ModelEntry(name="plain", family=Plain)
    assert only_choice(grid_of(entry, Plain())) == {}


MODELS_FILE = """
import numpy as np
from cfbench import ModelEntry, ModelFamily, hookimpl

class Step:
    def predict(self, Z):
        return (Z[:, 0] >= self.threshold).astype(np.int64)

    def predict_proba(self, Z):
        return np.eye(2)[self.predict(Z)]

    def fingerprint(self):
        return str(self.threshold)

    def oracle(self):
        return self

class Family(ModelFamily):
    threshold: float | None = None

    def grid(self):
        return {"threshold": [10.0, 40.0] if self.threshold is None else [self.threshold]}

    def tune(self, X, y, space):
        return {"threshold": 40.0}

    def fit(self, X, y, space, hyperparameters):
        model = Step()
        model.threshold = hyperparameters["threshold"]
        return model

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="step", family=Family)
"""


@pytest.mark.parametrize("how", ["file", "module"])
def test_the_model_of_an_edited_plugin_is_fitted_again(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my_step_models.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = str(file) if how == "file" else "my_step_models"

    def fitted(text: str) -> tuple[str, list[str]]:
        file.write_text(text)
        monkeypatch.delitem(sys.modules, "my_step_models", raising=False)
        importlib.invalidate_caches()
        entry = build_registry(RegistryOptions(plugins=(name,))).model("step").entry
        told: list[str] = []
        model = FittedModels(tmp_path / "cache", told.append).get(data(), 0, entry, entry.family())
        return model.fingerprint(), [sentence.partition(" ")[0] for sentence in told]

    (tmp_path / "cache").mkdir(mode=0o700)
    assert fitted(MODELS_FILE) == ("40.0", ["tuning", "fitting"])
    assert fitted(MODELS_FILE) == ("40.0", [])
    edited = MODELS_FILE.replace('return {"threshold": 40.0}', 'return {"threshold": 10.0}')
    assert fitted(edited) == ("10.0", ["tuning", "fitting"])
    assert fitted(edited.replace("str(self.threshold)", '"above"')) == ("above", ["tuning", "fitting"])
    assert fitted(MODELS_FILE) == ("40.0", [])


def test_the_keys_of_installed_families_know_nothing_of_their_files(tmp_path: Path) -> None:
    registry = build_registry()
    for name in ("random-forest", "neural-network"):
        assert code_of(registry.model(name).entry.family()) == ""
    assert code_of(StepFamily()) == ""


def test_a_plugin_file_inside_the_checkout_has_a_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "my_models.py"
    file.write_text(MODELS_FILE)
    entry = build_registry(RegistryOptions(plugins=(str(file),))).model("step").entry
    elsewhere = code_of(entry.family())
    monkeypatch.setattr("cfbench.__file__", str(tmp_path / "cfbench" / "__init__.py"))
    assert code_of(entry.family()) == elsewhere != ""
    assert code_of(StepFamily()) != ""
