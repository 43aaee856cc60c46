"""``cfbench tune`` and ``cfbench fit``, with a plugin of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import cli
from cfbench.errors import CfbenchError, UnavailableError, UnknownNameError

PLUGIN = """
import numpy as np
from cfbench import (
    Dataset,
    DatasetEntry,
    FeatureSpace,
    FeatureSpec,
    Kind,
    ModelEntry,
    ModelFamily,
    SearcherEntry,
    hookimpl,
)
from cfbench.errors import UnavailableError

class Step:
    def __init__(self, threshold):
        self.threshold = threshold
    def predict(self, Z):
        return (Z[:, 0] >= self.threshold).astype(np.int64)
    def predict_proba(self, Z):
        return np.eye(2)[self.predict(Z)]
    def fingerprint(self):
        return f"step-{self.threshold:g}"
    def oracle(self):
        return self

class StepFamily(ModelFamily):
    threshold: float | None = None
    def grid(self):
        return {"threshold": [10.0, 40.0] if self.threshold is None else [self.threshold]}
    def tune(self, X, y, space):
        with open(__file__ + ".calls", "a") as calls:
            calls.write("tune ")
        return {"threshold": 40.0}
    def fit(self, X, y, space, hyperparameters):
        return Step(**hyperparameters)

def load(source):
    X = np.arange(100.0)[:, np.newaxis]
    space = FeatureSpace((FeatureSpec("a", Kind.NUMERICAL, 0.0, 99.0),))
    return Dataset("steps", X, (X[:, 0] >= 40).astype(np.int64), space, 1, ("no", "yes"))

def load_absent(source):
    raise UnavailableError("no table here; put one there")

@hookimpl
def cfbench_register_datasets():
    yield DatasetEntry(name="absent", load=load_absent)
    yield DatasetEntry(name="steps", load=load)

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="step", family=StepFamily)

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="stay", searcher=lambda problem, rng: None)
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "steps.py"
    path.write_text(PLUGIN, encoding="utf-8")
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return path


def call(plugin: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--plugin", str(plugin)])


def error_of(plugin: Path, *arguments: str) -> CfbenchError:
    result = call(plugin, *arguments)
    assert isinstance(result.exception, CfbenchError), result.output
    return result.exception


def tunings(plugin: Path) -> int:
    calls = plugin.with_name("steps.py.calls")
    return calls.read_text().count("tune") if calls.exists() else 0


def test_tune_fills_the_users_cache_and_goes_on_where_it_stopped(plugin: Path) -> None:
    first = call(plugin, "tune", "--dataset", "steps", "--model", "step", "--fold", "1")
    assert first.exit_code == 0, first.output
    assert (
        "step steps fold 1: accuracy 1.000 on the test fold, 1.000 in cross-validation; threshold=40.0" in first.output
    )
    assert tunings(plugin) == 1
    rest = call(plugin, "tune", "--dataset", "steps", "--model", "step")
    assert tunings(plugin) == 5
    assert [line.endswith("tuned before") for line in rest.stdout.splitlines()] == [False, True, False, False, False]


def test_tune_completes_a_table(plugin: Path, tmp_path: Path) -> None:
    table = tmp_path / "tuned.json"
    for folds in (("--fold", "3"), ("--fold", "0", "--fold", "3")):
        result = call(plugin, "tune", "--dataset", "steps", "--model", "step", *folds, "--output", str(table))
        assert result.exit_code == 0, result.output
    rows = json.loads(table.read_text())
    assert [(row["model"], row["dataset"], row["fold"]) for row in rows] == [("step", "steps", 0), ("step", "steps", 3)]
    assert rows[0]["hyperparameters"] == {"threshold": 40.0}
    assert tunings(plugin) == 2


def test_tune_says_where_nothing_is_to_tune(plugin: Path) -> None:
    result = call(plugin, "tune", "--dataset", "steps", "--model", "step[threshold=7]")
    assert "step[threshold=7]: nothing to tune" in result.stdout
    assert tunings(plugin) == 0


def test_tune_needs_a_data_set_that_is_asked_for(plugin: Path) -> None:
    error = error_of(plugin, "tune", "--dataset", "absent", "--model", "step")
    assert isinstance(error, UnavailableError)


def test_tune_keeps_what_it_has_when_the_table_cannot_be_written(plugin: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    output = str(tmp_path / "link" / "t.json")
    error = error_of(plugin, "tune", "--dataset", "steps", "--model", "step", "--fold", "0", "--output", output)
    assert isinstance(error, UnavailableError)
    assert "cannot be written: " in str(error)
    assert "'threshold': 40.0" in str(error)


def test_names_are_checked(plugin: Path) -> None:
    assert isinstance(error_of(plugin, "tune", "--model", "stepp"), UnknownNameError)
    assert isinstance(error_of(plugin, "tune", "--model", "step", "--dataset", "stepz"), UnknownNameError)


def test_fit_prints_a_fingerprint_a_model_and_keeps_the_models(plugin: Path, tmp_path: Path) -> None:
    arguments = ["fit", "--dataset", "steps", "--model", "step", "--model", "step[threshold=60]", "--searcher", "stay"]
    result = call(plugin, *arguments, "--fold", "0")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("step steps fold 0: fingerprint step-40, accuracy 1.000, 8 eligible points")
    # thresholds 40 and 60 disagree on 20 of 100 rows, 4 of them in this test fold
    assert lines[1].startswith("step[threshold=60] steps fold 0: fingerprint step-60, accuracy ")
    assert len(list((tmp_path / "cache" / "models").iterdir())) == 2


def test_fit_reports_a_pointless_model_and_goes_on(plugin: Path) -> None:
    models = ("--model", "step[threshold=500]", "--model", "step[threshold=40]")
    result = call(plugin, "fit", "--dataset", "steps", *models, "--searcher", "stay", "--fold", "0")
    assert result.exit_code == 1
    assert "Failed: step[threshold=500] steps fold 0: the model predicts class 'no' for all 100 rows" in result.stderr
    assert "step[threshold=40] steps fold 0: fingerprint step-40" in result.stdout
