"""docs/add-a-dataset.md: its example works as it stands, and its table names every key."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cfbench import Dataset, DataSource, FeatureSpace, FeatureSpec, Kind
from cfbench.cli import cli
from cfbench.registry.discovery import import_file
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import N_SPLITS
from cfbench.space.dataset import N_FOLDS, split
from cfbench_datasets.annotation import FeatureTable, LabelTable
from cfbench_datasets.encoding import load_folder

PAGE = (Path(__file__).parents[3] / "docs" / "add-a-dataset.md").read_text("utf-8")


def fenced(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    assert isinstance(block, str)
    return block


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    folder = tmp_path / "loans"
    folder.mkdir()
    (folder / "annotations.toml").write_text(fenced("toml"), encoding="utf-8")
    (folder / "data.csv").write_text(fenced("csv"), encoding="utf-8")
    return folder


def test_the_example_loads(loans: Path) -> None:
    dataset = load_folder(loans, "loans")
    assert dataset.space.names == ("age", "income", "job", "region")
    assert dataset.X[0].tolist() == [34.0, 2.5, 0.0, 0.0]
    assert (dataset.class_counts, dataset.class_labels, dataset.target) == ((5, 5), ("defaulted", "repaid"), 1)


def test_the_command_shows_it(loans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(loans.parent)
    words = fenced("sh").split()
    assert words[0] == "cfbench"
    result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
    assert result.exit_code == 0
    assert "10 rows, 4 features, 2 of them categorical; user: Applicant" in result.output


@pytest.mark.parametrize(("rows", "enough"), [(5, False), (6, False), (7, True)])
def test_a_class_of_seven_rows_is_enough_for_tuning_and_six_are_not(rows: int, enough: bool) -> None:
    X = np.linspace(0.0, 1.0, 2 * rows)[:, np.newaxis]
    space = FeatureSpace((FeatureSpec("height", Kind.NUMERICAL, 0.0, 1.0),))
    y = np.arange(2 * rows) % 2
    dataset = Dataset("few", X, y, space, target=1, class_labels=("small", "large"))
    training = [np.bincount(y[split(dataset, fold).train]) for fold in range(N_FOLDS)]
    assert bool(np.min(training) >= N_SPLITS) == enough
    assert f'"no class has {N_SPLITS} training rows, too few to tune model ..."' in PAGE


def test_the_plugin_registers_its_data_set(tmp_path: Path) -> None:
    file = tmp_path / "boxes.py"
    file.write_text(fenced("python"), encoding="utf-8")
    entry = build_registry(objects=[import_file(file)]).dataset("boxes").entry
    assert entry.load(DataSource((), tmp_path)).class_counts == (5, 5)


@pytest.mark.parametrize("key", [*FeatureTable.model_fields, *LabelTable.model_fields])
def test_every_key_is_described(key: str) -> None:
    assert f"`{key}`" in PAGE
