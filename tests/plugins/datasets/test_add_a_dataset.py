"""docs/add-a-dataset.md: its example works as it stands, and its table names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cfbench import DataSource
from cfbench.cli import cli
from cfbench.loading import import_file
from cfbench.registry import build_registry
from cfbench_datasets.folder import load_folder
from cfbench_datasets.schema import FeatureTable, LabelTable

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


def test_the_plugin_registers_its_data_set(tmp_path: Path) -> None:
    file = tmp_path / "boxes.py"
    file.write_text(fenced("python"), encoding="utf-8")
    entry = build_registry(objects=[import_file(file)]).dataset("boxes").entry
    assert entry.load(DataSource((), tmp_path)).class_counts == (5, 5)


@pytest.mark.parametrize("key", [*FeatureTable.model_fields, *LabelTable.model_fields])
def test_every_key_is_described(key: str) -> None:
    assert f"`{key}`" in PAGE
