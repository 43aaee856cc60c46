"""``cfbench datasets``: the paper's table in four forms, and one data set in full."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench.cli import cli
from cfbench.errors import DataError, PluginError, UnknownNameError
from cfbench.registry.contracts import DataSource
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.running.fitted import FittedModels
from cfbench.space.dataset import split
from cfbench.study.sources import load_dataset

PLUGIN = """
import numpy as np
from cfbench import Dataset, DatasetEntry, FeatureSpace, FeatureSpec, Kind, hookimpl

def load(source):
    X = np.linspace(0.0, 1.0, 20).reshape(10, 2)
    space = FeatureSpace(tuple(FeatureSpec(name, Kind.NUMERICAL, 0.0, 1.0) for name in ("height", "width|depth")))
    return Dataset("boxes", X, (X[:, 0] > 0.5).astype(np.int64), space, target=1, class_labels=("small", "a|b"))

def fail(source):
    raise ZeroDivisionError("the plugin's own mistake")

@hookimpl
def cfbench_register_datasets():
    yield DatasetEntry(name="boxes", load=load)
    yield DatasetEntry(name="broken", load=fail)
    yield DatasetEntry(name="odd", load=lambda source: ...)
"""


@pytest.fixture(autouse=True)
def nothing_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFBENCH_DATA_DIR", raising=False)
    monkeypatch.setenv("CFBENCH_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    (tmp_path / "boxes.py").write_text(PLUGIN)
    return str(tmp_path / "boxes.py")


def stdout(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["datasets", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_table_is_the_papers(plugin: str) -> None:
    lines = stdout("list", "--offline", "--plugin", plugin).splitlines()
    assert " ".join(lines[0].split()) == "data set n d d2 classes user target constraints perturbations"
    by_name = {line.split()[0]: " ".join(line.split()) for line in lines[1:] if line}
    assert by_name["credit"] == ("credit 1000 20 6 high risk, low risk Individual low risk >=:3 =:8 <=:0 N:6 C:0")
    assert by_name["housing"] == (
        "housing 506 13 1 low price, high price Municipality low price >=:0 =:3 <=:1 N:11 C:0"
    )
    assert by_name["boxes"] == "boxes 10 2 0 small, a|b Individual a|b >=:0 =:0 <=:0 N:0 C:0"
    assert "\x1b" not in "".join(lines)


def test_what_cannot_be_had_is_listed_with_the_reason(plugin: str) -> None:
    text = stdout("list", "--offline", "--plugin", plugin)
    assert re.search(r"^productivity +-", text, flags=re.MULTILINE)
    assert re.search(r"^heloc +-", text, flags=re.MULTILINE)
    assert "data set 'heloc' is not shipped: put heloc_dataset_v1.csv" in text
    assert "productivity: data set 'productivity' is not shipped" in text
    assert "--data-dir or CFBENCH_DATA_DIR" in text
    assert "data set 'broken': it raised ZeroDivisionError: the plugin's own mistake" in text
    assert "data set 'odd': its entry's load returned ellipsis, not a cfbench.Dataset" in text


def test_json_and_csv_hold_the_same_numbers() -> None:
    entries = {entry["data set"]: entry for entry in json.loads(stdout("list", "--offline", "--format", "json"))}
    rows = {row["data set"]: row for row in csv.DictReader(io.StringIO(stdout("list", "--offline", "--format", "csv")))}
    assert entries.keys() == rows.keys()
    income = entries["income"]
    assert income["constraints"] == {">=": 2, "=": 3, "<=": 0}
    assert income["perturbations"] == {"N": 4, "C": 4}
    assert income["classes"] == ["low income", "high income"]
    assert [rows["income"][f"constraints {sign}"] for sign in (">=", "=", "<=")] == ["2", "3", "0"]
    assert [rows["income"][f"perturbations {kind}"] for kind in ("N", "C")] == ["4", "4"]
    assert rows["income"]["unavailable"] == ""
    assert rows["productivity"]["unavailable"] == entries["productivity"]["unavailable"] != ""
    assert rows["productivity"]["n"] == ""


def test_markdown_has_a_line_a_data_set_and_escapes(plugin: str) -> None:
    lines = stdout("list", "--offline", "--format", "markdown", "--plugin", plugin).splitlines()
    assert lines[0].startswith("| data set | n | d | d2 |")
    assert "| wine | 178 | 13 | 0 | cultivar 0, cultivar 1, cultivar 2 | Winemaker | cultivar 0 |" in "\n".join(lines)
    assert "small, a\\|b" in "\n".join(lines)


def test_show_prints_classes_features_and_card() -> None:
    text = stdout("show", "income")
    assert "1883 rows, 12 features, 7 of them categorical; user: Individual" in text
    assert "class 1, high income: 967 rows (51.4%), the target" in text
    features = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if "ical " in line}
    assert features["age"] == "age numerical [17, 90] years, multiples of 1 >= 0 to +2 age"
    assert "none -10% to +5% of the value" in features["capital-gain"]
    assert features["relationship"].endswith("Unmarried, Wife none any category role in the household")
    assert "categorical Female, Male = none" in features["sex"]
    assert "**Licence.** The UCI repository lists the data set under CC BY 4.0." in text


def test_show_says_where_there_is_no_card(plugin: str) -> None:
    assert stdout("show", "boxes", "--plugin", plugin).endswith("It has no card.\n")


def test_show_takes_a_folder_and_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere is not a folder"):
        stdout("show", str(tmp_path / "nowhere"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"annotations\.toml does not exist"):
        stdout("show", str(tmp_path / "empty"))


ODD = r"""
title = "odd"
user = "some\u001b[2Jbody"

[label]
column = "label"
classes = ["no", "yes"]
meanings = ["no\u001b]0;x\u0007", "yes"]
target = "yes"

[[features]]
name = "height"
kind = "numerical"
interval = [0, 10]
unit = "cm\u001b[31m"
description = "how\nhigh"
"""


def test_show_passes_no_control_characters(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "annotations.toml").write_text(ODD)
    rows = "".join(f"{number},{'no' if number < 5 else 'yes'}\n" for number in range(10))
    (folder / "data.csv").write_text(f"height,label\n{rows}")
    (folder / "CARD.md").write_text("# Odd\n\nA \x1b[31mcard\x1b[0m,\tin two lines\n")
    text = stdout("show", str(folder))
    assert not [sign for sign in text if not sign.isprintable() and sign != "\n"]
    assert "# Odd\n\nA \N{REPLACEMENT CHARACTER}[31mcard" in text
    assert "how high" in text


def test_a_card_that_is_no_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "annotations.toml").write_text(ODD)
    (folder / "data.csv").write_text("height,label\n" + "1,no\n" * 5 + "2,yes\n" * 5)
    (folder / "CARD.md").write_bytes(b"caf\xe9")
    with pytest.raises(PluginError, match=r"CARD\.md: byte 3 is not UTF-8 text; save the card as UTF-8"):
        stdout("show", str(folder))


def test_a_folder_at_home_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match=f"{tmp_path}/mine is not a folder"):
        stdout("show", "~/mine")


def test_show_suggests_names() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown data set 'credits'\. Did you mean 'credit'\?"):
        stdout("show", "credits")


def test_check_says_what_a_run_would_do() -> None:
    said = stdout("check", "wine", "--offline").splitlines()
    assert said[0] == "wine: 178 rows, 13 features, 0 of them categorical"
    assert said[1].startswith("classes: ")
    assert said[2].startswith("target: ")
    assert "folds: 5; models are fitted on 142, 143 rows, and the points come from the others" in said
    assert "random-forest: tuned settings for all folds are at hand" in said
    assert said[-1] == "It can be used: cfbench run --dataset wine"


def test_check_of_a_small_table_says_that_models_cannot_be_tuned(plugin: str) -> None:
    said = stdout("check", "boxes", "--plugin", plugin).splitlines()
    assert said[0] == "boxes: 10 rows, 2 features, 0 of them categorical"
    assert "target: a|b, 5 of 10 rows" in said
    reason = "cannot be tuned, as no class has 5 training rows; give its settings values"
    assert {f"random-forest: {reason}", f"neural-network: {reason}"} <= set(said)


PLAIN_FAMILY = """
import numpy as np
from cfbench import ModelEntry, ModelFamily, hookimpl

class Model:
    def predict(self, Z):
        return (Z[:, 0] > 13).astype(np.int64)
    def predict_proba(self, Z):
        above = (Z[:, 0] > 13).astype(np.float64)
        return np.column_stack([1 - above, above, 0 * above])
    def fingerprint(self):
        return "above-13"
    def oracle(self):
        return self

class Above(ModelFamily):
    def fit(self, X, y, space, hyperparameters):
        return Model()

@hookimpl
def cfbench_register_models():
    yield ModelEntry(name="above", family=Above)
"""


def test_check_counts_the_eligible_points_of_models_that_are_fitted(tmp_path: Path) -> None:
    (tmp_path / "above.py").write_text(PLAIN_FAMILY)
    plugin = str(tmp_path / "above.py")
    (tmp_path / "cache").mkdir(mode=0o700)

    def line() -> str:
        said = stdout("check", "wine", "--offline", "--plugin", plugin).splitlines()
        return next(line for line in said if line.startswith("above: "))

    assert line() == "above: nothing to tune"
    registry = build_registry(RegistryOptions(plugins=(plugin,)))
    source = DataSource((), tmp_path / "cache", download=False)
    wine, entry = load_dataset(registry.dataset("wine").entry, source), registry.model("above").entry
    FittedModels(tmp_path / "cache").get(wine, 2, entry, entry.family())
    test = wine.X[split(wine, 2).test]
    target = wine.target
    n = int(((test[:, 0] > 13).astype(int) != target).sum())
    assert line() == f"above: nothing to tune; eligible points: {n} in fold 2"


def test_check_lists_the_problems_of_both_files(tmp_path: Path) -> None:
    folder = tmp_path / "loans"
    folder.mkdir()
    rows = [f"{i / 10},{i % 2}\n" for i in range(20)]
    rows[3] = "tall,1\n"
    (folder / "data.csv").write_text("height,ok\n" + "".join(rows))
    (folder / "annotations.toml").write_text(
        '[label]\ncolumn = "ok"\nclasses = ["0", "1"]\ntarget = "1"\n'
        '[[features]]\nname = "height"\nkind = "numerical"\ninterval = [0, 3]\n'
        '[[relations]]\ninequality = "height * height <= 2"\n[[relations]]\ninequality = "width <= 2"\n'
    )
    result = CliRunner().invoke(cli, ["datasets", "check", str(folder)])
    assert result.exit_code == 1
    with pytest.raises(DataError) as caught:
        stdout("check", str(folder))
    for words in ("line 9: 'height * height <= 2' is not linear", "line 11: unknown feature 'width'", "line 5", "tall"):
        assert words in str(caught.value)


def test_check_names_relations_that_contradict_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "loans"
    folder.mkdir()
    (folder / "data.csv").write_text("height,ok\n" + "".join(f"{i / 10},{i % 2}\n" for i in range(20)))
    (folder / "annotations.toml").write_text(
        '[label]\ncolumn = "ok"\nclasses = ["0", "1"]\ntarget = "1"\n'
        '[[features]]\nname = "height"\nkind = "numerical"\ninterval = [0, 3]\n'
        '[[relations]]\ninequality = "height <= 1"\n[[relations]]\ninequality = "height >= 2"\n'
    )
    with pytest.raises(DataError, match=r"line 9.* and .*line 11.* contradict each other"):
        stdout("check", str(folder))


@pytest.mark.parametrize(
    ("annotation", "complaint"),
    [
        ('inequality = "height >= 2"', "20 of 20 rows break the relation 'height >= 2' (annotations.toml, line 9)"),
        ('inequality = "hight >= 2"', "annotations.toml, line 9: "),
        ('inequality = "height >= 1"', ""),
    ],
)
def test_check_of_a_folder(tmp_path: Path, annotation: str, complaint: str) -> None:
    folder = tmp_path / "loans"
    folder.mkdir()
    (folder / "data.csv").write_text("height,ok\n" + "".join(f"{i / 10},{i % 2}\n" for i in range(20)))
    (folder / "annotations.toml").write_text(
        '[label]\ncolumn = "ok"\nclasses = ["0", "1"]\ntarget = "1"\n'
        '[[features]]\nname = "height"\nkind = "numerical"\ninterval = [0, 3]\n'
        f"[[relations]]\n{annotation}\n"
    )
    if complaint:
        with pytest.raises(DataError, match=re.escape(complaint)):
            stdout("check", str(folder))
    else:
        said = stdout("check", str(folder)).splitlines()
        assert "- height >= 1 (broken by 10 of 20 rows, the first is row 1)" in said
        assert said[-1] == f"It can be used: cfbench run --dataset {folder}"
