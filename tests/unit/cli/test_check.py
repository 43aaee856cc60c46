"""`cfbench check`: what it names, what it prints, how it ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfbench.cli import main
from cfbench.cli.check import command
from cfbench.errors import CfbenchError, PluginError, UnavailableError, UnknownNameError
from cfbench.testing.searchers import SEARCHER_CHECKS

Install = Callable[..., None]

ACME = """
from cfbench import SearcherEntry, hookimpl

def stay(problem, rng):
    return None

def step_up(problem, rng):
    z = problem.x.copy()
    z[0] = problem.bounds()[1][0]
    return z if problem.predict(z[None])[0] == problem.target else None

def loud(problem, rng):
    print("[bold]here")
    return step_up(problem, rng)

STAY = SearcherEntry(name="acme-stay", searcher=stay)
UP = SearcherEntry(name="acme-up", searcher=step_up)
DECLARED = SearcherEntry(name="acme-loud", searcher=loud, known_failures={"prints-nothing": "the library is talkative"})
AWAY = SearcherEntry(name="acme-away", searcher=stay, unavailable="it needs a licence")

class Group:
    entry = UP

@hookimpl
def cfbench_register_searchers():
    return [UP, STAY, AWAY]
"""


@pytest.fixture
def acme(install: Install) -> None:
    install("acme-search", {"acme": "acme_plugin"}, {"acme_plugin": ACME}, version="2.5")


def check(*arguments: str, width: int = 200) -> Result:
    return CliRunner().invoke(command, list(arguments), env={"COLUMNS": str(width)})


@pytest.mark.slow
@pytest.mark.usefixtures("acme")
def test_a_searcher_that_passes_and_one_that_does_not() -> None:
    passing = check("acme-up")
    assert passing.exit_code == 0, passing.output
    assert passing.stderr == "Checking the searcher acme-up ...\n"
    assert "acme-up: 31 passed, 10 not applicable" in passing.stdout
    failing = check("acme-stay")
    assert failing.exit_code == 1
    (line,) = [line for line in failing.stdout.splitlines() if "finds-something" in line]
    assert line.split()[:2] == ["failed", "finds-something:"]
    narrow = check("acme-stay", width=80).stdout.splitlines()
    assert max(map(len, narrow)) <= 80
    assert len(narrow) < 110, "a check takes two or three lines, not a tower of words"
    assert "it found nothing on any of them" in line
    assert "To fix: look at what" in failing.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("acme")
def test_json_is_one_document() -> None:
    result = check("acme-search", "--json")
    assert result.exit_code == 1
    up, stay = json.loads(result.stdout)
    assert (up["kind"], up["name"], up["passed"]) == ("searcher", "acme-up", True)
    assert (stay["name"], stay["passed"]) == ("acme-stay", False)
    assert [one["check"] for one in up["checks"]] == [one.name for one in SEARCHER_CHECKS]
    assert {one["check"] for one in stay["checks"] if one["result"] == "failed"} == {"finds-something"}
    assert all(one["guards"] and one["fix"] for one in stay["checks"])
    assert result.stderr == "acme-away cannot run here: it needs a licence\n"


def test_a_data_set_is_checked() -> None:
    result = check("wine")
    assert result.exit_code == 0, result.output
    assert "Checking the data set wine ..." in result.stderr
    assert "wine: 4 passed" in result.stdout


def test_a_class_without_its_method_is_said_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import cfbench\n\nclass Grid(cfbench.ModelFamily):\n    depth: int = 3\n\n@cfbench.hookimpl\n"
        "def cfbench_register_models():\n    yield cfbench.ModelEntry(name='grid', family=Grid)\n"
    )
    result = check("grid", "--plugin", str(file))
    assert isinstance(result.exception, PluginError)
    assert str(result.exception) == (
        f"'grid' is not registered: plugin {file}: cfbench_register_models failed: entry 'grid': the class Grid lacks "
        "the method fit(self, X, y, space, hyperparameters)"
    )


WRONG_MODEL = """
from cfbench import ModelEntry, ModelFamily, SklearnFamily, hookimpl
from sklearn.svm import LinearSVC

class Halfway:
    def predict(self, Z):
        return Z[:, 0].astype(int)

class Family(ModelFamily):
    def fit(self, X, y, space, hyperparameters):
        return Halfway()

def make(seed):
    return LinearSVC(random_state=seed)

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="mine", family={family})
"""


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        (
            "Family",
            "fit returned a Halfway without predict_proba and fingerprint and oracle; a fitted model needs the methods "
            "predict, predict_proba, fingerprint, oracle",
        ),
        (
            "SklearnFamily(make)",
            "the factory 'make' returned a LinearSVC without predict_proba: wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or choose another classifier",
        ),
    ],
)
def test_what_a_model_lacks_is_one_sentence(tmp_path: Path, family: str, sentence: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(WRONG_MODEL.format(family=family))
    result = check("mine", "--plugin", str(file), width=400)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1] == f"failed          is-complete: {sentence}"
    assert result.stdout.count("is-complete") == 1
    assert result.stdout.endswith("mine: 1 failed, 12 not applicable\n")


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("SklearnFamily(lambda seed: LinearSVC())", "at the top level of a module, not a lambda: "),
        ("LinearSVC", "not the class LinearSVC; for a classifier of scikit-learn, give cfbench.SklearnFamily(make), "),
    ],
)
def test_a_wrong_family_is_described_in_one_sentence(tmp_path: Path, family: str, words: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(WRONG_MODEL.format(family=family))
    result = check("mine", "--plugin", str(file))
    assert isinstance(result.exception, PluginError)
    assert str(result.exception).startswith(
        f"'mine' is not registered: plugin {file}: cfbench_register_models failed: "
    )
    assert words in str(result.exception)


@pytest.mark.slow
@pytest.mark.usefixtures("acme")
def test_an_entry_in_a_module_need_not_be_registered() -> None:
    declared = check("acme_plugin:DECLARED")
    assert declared.exit_code == 0, declared.output
    assert "the library is talkative (it wrote to stdout: '[bold]here\\n')" in declared.stdout
    assert "acme-loud: 30 passed, 10 not applicable, 1 known failure" in declared.stdout
    assert check("acme_plugin:Group.entry").exit_code == 0


@pytest.mark.slow
def test_a_file_that_the_user_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(ACME)
    assert check("acme-up", "--plugin", str(file)).exit_code == 0


@pytest.mark.slow
def test_a_module_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_module.py").write_text(ACME)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert check("my_own_module:UP").exit_code == 0
    del sys.modules["my_own_module"]


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        (
            "acme-upp",
            UnknownNameError,
            "metric, dataset, preset, report or distribution 'acme-upp'. Did you mean 'acme-up'?",
        ),
        ("acme-serch", UnknownNameError, "Did you mean 'acme-search'?"),
        ("acme-away", UnavailableError, "acme-away cannot be checked here: it needs a licence"),
        ("acme_plugin:NONE", PluginError, "there is no 'NONE' in acme_plugin; entries there: STAY, UP"),
        ("acme_plugin:stay", PluginError, "acme_plugin:stay is a function, not an entry; put it into an entry"),
        ("acme_plugin:Group", PluginError, "acme_plugin:Group is the class Group, not an entry"),
        ("acme_plug:UP", PluginError, "acme_plug cannot be imported"),
        ("acme_plugin:", PluginError, "there is no '' in acme_plugin"),
    ],
)
def test_what_cannot_be_checked(target: str, error: type[CfbenchError], words: str) -> None:
    result = check(target)
    assert isinstance(result.exception, error), result.output
    assert words in str(result.exception)


@pytest.mark.usefixtures("acme")
def test_an_error_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check", "acme-upp"])
    assert caught.value.code == 1
    assert capsys.readouterr().err.startswith("Error: unknown searcher, model, objective, metric, dataset, ")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("random-forest", "model"), ("none", "objective"), ("loss", "metric")])
def test_models_objectives_and_metrics_have_checks_of_their_own(name: str, kind: str) -> None:
    result = check(name, "--json")
    assert result.exit_code == 0, result.output
    (report,) = json.loads(result.stdout)
    assert (report["kind"], report["name"], report["passed"]) == (kind, name, True)
    assert len(report["checks"]) > 5


def test_a_time_limit_has_to_be_positive() -> None:
    assert check("cogs", "--time-limit", "0").exit_code == 2


OWN = """
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

def fitted():
    table = pd.read_csv({table!r})
    scaled = make_column_transformer((StandardScaler(), ["income"]))
    return make_pipeline(scaled, LogisticRegression()).fit(table[["income"]], table["loan"])

class Rule:
    def predict(self, rows):
        return ["yes" if income > 50 else "no" for income in rows["income"]]

def rule():
    return Rule()
"""
ANNOTATIONS = """
[label]
column = "loan"
classes = ["no", "yes"]
target = "yes"

[[features]]
name = "income"
kind = "numerical"
interval = [0, 100]
"""


def test_a_model_of_one_s_own_is_told_of(tmp_path: Path) -> None:
    folder, model = tmp_path / "loans", tmp_path / "own.py"
    folder.mkdir()
    (folder / "annotations.toml").write_text(ANNOTATIONS)
    rows = [f"{income},{'yes' if income > 50 else 'no'}" for income in range(1, 100)]
    (folder / "data.csv").write_text("\n".join(["income,loan", *rows]))
    model.write_text(OWN.format(table=str(folder / "data.csv")))
    said = check(f"{model}:fitted", "--dataset", str(folder)).output
    assert f"{model}:fitted, as own-fitted on loans" in said
    assert "ColumnTransformer -> LogisticRegression" in said
    assert "data frame, categories as in the table; 1 of 1 features" in said
    assert "no, yes: as the table writes them" in said
    assert "fast, over the features; the same classes as the model" in said
    content = json.loads(check(f"{model}:rule", "--dataset", str(folder), "--json").stdout)
    assert content["labels"] == "it agrees with 100.0% of 79 training rows"
    assert content["probabilities"] == "no; searchers that need them are skipped"
    assert content["oracle"] == (
        "the model itself, in batches, equal rows once (the last step, a Rule, has no classes_)"
    )
    assert "name the data set that the model is for" in check(f"{model}:rule").output
