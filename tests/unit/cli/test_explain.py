"""``cfbench explain`` on the toy plugin: size + 0.5 [colour = blue] > 10 is class "large"."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cfbench import load_record, run
from cfbench.cli import cli
from cfbench.errors import RecordError, StudyError, UnknownNameError
from cfbench.record.store import Record
from tests.toys.runs import Toys
from tests.toys.studies import LOSS_ALONE, STUDY, TOY

Command = Callable[..., Result]


@pytest.fixture
def cfbench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line in an empty folder, with the toy plugin."""
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(cache))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def invoke(name: str, *arguments: str) -> Result:
        common = [name, "--plugin", str(TOY), "--dataset", "toy", "--model", "threshold"]
        return CliRunner().invoke(cli, [*common, *arguments])

    return invoke


def record_of(tmp_path: Path, **changes: Any) -> None:
    """Make the record ``results`` of toy-dice with constraints, in this process."""
    Toys(tmp_path / "cache").run(Path("results"), constraints=(True,), folds=(0,), **changes)


def test_one_case_in_words(cfbench: Command) -> None:
    result = cfbench("explain", "--searcher", "toy-dice", "--point", "1")
    assert result.exit_code == 0, result.output
    first, ended, *rest = result.stdout.splitlines()
    assert first.startswith("toy, threshold, fold 0: point 1 of ")
    assert ended.startswith("found: toy-dice, objective none, constraints on: 200 queries, ")
    assert "'small' becomes 'large' if " in rest[0]
    assert {"To change:", "To keep:"} <= set(rest)
    assert any(line.startswith("  size ") and line.endswith("may only grow") for line in rest)
    assert "No feature has an annotated perturbation" in rest[-1]


def test_the_search_is_the_one_of_a_study(cfbench: Command, tmp_path: Path) -> None:
    words = ("--searcher", "toy-dice")
    anew = json.loads(cfbench("explain", *words, "--point", "1", "--format", "json").stdout)
    record_of(tmp_path, repetitions=3, points=2)
    record = load_record("results")
    point = record[record["point"] == 1]
    assert anew["loss"] == point[point["repetition"] == 0]["loss"].item()
    assert anew["case"]["record"] is None
    read = json.loads(cfbench("explain", *words, "--point", "1", "--format", "json").stdout)
    assert read["loss"] == point["loss"].min()
    best = int(point["loss"].argmin())
    assert read["case"]["record"] == {
        "results": "results",
        "cell": point["cell_key"].iloc[0],
        "repetition": best,
        "repetitions": 3,
    }
    text = cfbench("explain", *words, "--row", str(anew["case"]["row"])).stdout
    assert f"read from the record results: repetition {best}, the best of 3" in text


def test_a_record_made_under_a_time_limit_is_read_as_well(cfbench: Command, tmp_path: Path) -> None:
    words = ("--searcher", "toy-dice")
    record_of(tmp_path, repetitions=1, points=1, time_limit=60.0)
    assert "read from the record results: repetition 0\n" in cfbench("explain", *words, "--point", "0").stdout
    assert "read from" not in cfbench("explain", *words, "--point", "0", "--seed", "1").stdout


def test_no_counterfactual_has_an_exit_code_of_its_own(cfbench: Command) -> None:
    result = cfbench("explain", "--searcher", "toy-talk", "--point", "0")
    assert result.exit_code == 3
    assert "No counterfactual was found: the class stays 'small', the target is 'large'." in result.stdout
    assert "The case:" in result.stdout
    crashed = cfbench("explain", "--searcher", "toy-crash", "--point", "0")
    assert crashed.exit_code == 3
    assert "ValueError: cannot think today" in " ".join(crashed.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["--point", "60"], StudyError, r"no point 60: fold 0 of toy has (\d+) eligible points.* numbered from 0 to "),
        (["--point", "-1"], StudyError, "there is no point -1"),
        (["--row", "60"], StudyError, "there is no row 60: toy has 60 rows, numbered from 0 to 59"),
        (["--point", "0", "--searcher", "kogs"], UnknownNameError, "Did you mean 'cogs'"),
        (["--point", "0", "--objective", "kk"], UnknownNameError, "unknown objective 'kk'"),
        (["--point", "0", "--dataset", "toys"], UnknownNameError, "Did you mean 'toy'"),
        (
            ["--point", "0", "--results", "nowhere"],
            RecordError,
            "in nowhere: the folder does not exist",
        ),
    ],
)
def test_bad_requests(cfbench: Command, arguments: list[str], kind: type[Exception], words: str) -> None:
    result = cfbench("explain", *arguments)
    assert isinstance(result.exception, kind), result.output
    with pytest.raises(kind, match=words):
        raise result.exception


def test_rows_that_cannot_be_explained_say_why(cfbench: Command) -> None:
    told = [str(cfbench("explain", "--row", str(row), "--searcher", "toy-talk").exception) for row in range(12)]
    trained = [text for text in told if "is a training row of fold 0 of toy" in text]
    assert trained
    fold = trained[0].rpartition(" ")[2]
    row = trained[0].split()[1]
    elsewhere = str(cfbench("explain", "--row", row, "--fold", fold, "--searcher", "toy-talk").exception)
    assert "trained" not in elsewhere
    assert any("into the target class 'large' already: there is nothing to explain" in text for text in told)


def test_the_case_is_named_once(cfbench: Command) -> None:
    for arguments in ([], ["--point", "0", "--row", "1"]):
        result = cfbench("explain", *arguments)
        assert result.exit_code == 2
        assert "name the case with --point I, or with --row N" in result.output


PERTURBED = """
import numpy as np
from cfbench import Dataset, DatasetEntry, FeatureSpace, FeatureSpec, Kind, NumericalPerturbation
from cfbench import SearcherEntry, hookimpl

SIZE = FeatureSpec("size", Kind.NUMERICAL, 0, 20, perturbation=NumericalPerturbation(1, 1))
AGE = FeatureSpec("age", Kind.NUMERICAL, 18, 98, perturbation=NumericalPerturbation(2, 2))
COLOUR = FeatureSpec("colour", Kind.CATEGORICAL, 0, 2, categories=("red", "green", "blue"))

def load(source):
    X = np.column_stack([np.linspace(0, 20, 60), np.full(60, 40.0), np.zeros(60)])
    y = (X[:, 0] > 10).astype(np.int64)
    return Dataset("moved", X, y, FeatureSpace((SIZE, AGE, COLOUR)), 1, ("small", "large"))

def grow(problem, rng):
    return np.array([10.5, *problem.x[1:]])

@hookimpl
def cfbench_register_datasets():
    yield DatasetEntry(name="moved", load=load)

@hookimpl
def cfbench_register_searchers():
    yield SearcherEntry(name="grow", searcher=grow, handles=["categorical features"])
"""


def test_a_perturbed_data_set_and_what_a_searcher_does_not_handle(cfbench: Command, tmp_path: Path) -> None:
    plugin = tmp_path / "moved.py"
    plugin.write_text(PERTURBED)
    words = ("--dataset", "moved", "--searcher", "grow", "--plugin", str(plugin), "--row", "1")
    told = [cfbench("explain", *words, "--constraints", "off", "--fold", str(fold)) for fold in range(5)]
    (result,) = [one for one in told if one.exit_code == 0]
    text = " ".join(result.stdout.split())
    # 10.5 falls back by 1, of a range of 20 and three features.
    assert "Worst setback: size back by 1 to 9.5: it loses the class." in text
    assert f"Repeating the change adds {0.5 / 20 / 3:.3f}" in text
    assert "what is kept, perturbed, 1,000 of 1,000" in text
    assert "age 40 class lost in 0 of 1,000" in text
    assert max(map(len, result.stdout.splitlines())) <= 100
    refused = cfbench("explain", *words)
    assert isinstance(refused.exception, StudyError)
    assert "grow does not handle constraints" in str(refused.exception)


def test_a_result_for_the_loss_alone_is_judged_under_the_objective(cfbench: Command, tmp_path: Path) -> None:
    def explained(searcher: str, *more: str) -> Result:
        words = ["explain", "--plugin", str(LOSS_ALONE), "--dataset", "drifting", "--model", "rule", "--point", "1"]
        return CliRunner().invoke(cli, [*words, "--searcher", searcher, "--objective", "k", *more])

    able, alone = (json.loads(explained(f"{name}-near", "--format", "json").stdout) for name in ("able", "alone"))
    assert alone["objective"] == able["objective"] == "k"
    assert alone["objective_value"] == able["objective_value"] > able["loss"] == alone["loss"]
    assert (alone["case"]["searched_for"], able["case"]["searched_for"]) == ("none", "k")
    text = explained("alone-near").stdout.splitlines()
    assert text[1] == "searched for the loss alone (objective none), and judged under objective k"
    assert text[2].startswith("found: alone-near, objective k, constraints on: ")
    value = alone["objective_value"]
    assert f"Objective value under k: {value:.3f}, the loss and the objective's term." in text
    assert "added for that" not in explained("alone-near").stderr


def test_of_several_repetitions_the_best_under_the_objective_is_shown(cfbench: Command, tmp_path: Path) -> None:
    study = {**STUDY, "datasets": ["drifting"], "models": ["rule"], "searchers": ["alone-luck"], "metrics": []}
    changes: dict[str, Any] = {"objectives": ["none", "k"], "constraints": [True], "points": 1, "repetitions": 5}
    run(study, plugins=[LOSS_ALONE], results="results", **changes)
    with Record.open(Path("results")) as record:
        (key,) = record.summaries()
        rows = record.searches(key)
        values = record.measures(key)["value"]
    best = int(values.argmin())
    assert best != int(rows["loss"].argmin())
    words = ["explain", "--plugin", str(LOSS_ALONE), "--dataset", "drifting", "--model", "rule", "--point", "0"]
    words += ["--searcher", "alone-luck", "--objective", "k", "--format", "json"]
    found = json.loads(CliRunner().invoke(cli, words).stdout)
    assert found["case"]["record"]["repetition"] == best
    assert found["objective_value"] == values[best]
    assert found["loss"] == rows["loss"][best]
