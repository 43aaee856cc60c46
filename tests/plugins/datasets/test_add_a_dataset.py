"""docs/add-a-dataset.md: its example works as it stands, and its table names every key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import cfbench
from cfbench import Dataset, DataSource, FeatureSpace, FeatureSpec, Kind
from cfbench.cli import cli
from cfbench.record.store import Record
from cfbench.registry.discovery import import_file
from cfbench.registry.registry import build_registry
from cfbench.running.fitted import N_SPLITS
from cfbench.space.dataset import N_FOLDS, broken_relations, split
from cfbench.tables.annotation import FeatureTable, LabelTable
from cfbench.tables.folder import load_folder

PAGE = (Path(__file__).parents[3] / "docs" / "add-a-dataset.md").read_text("utf-8")


def fenced(language: str, number: int = 0) -> str:
    block = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)[number]
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


def test_the_commands_check_it_and_show_it(loans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(loans.parent)
    checked, shown = (line.split() for line in fenced("sh", 1).splitlines())
    assert checked[0] == shown[0] == "cfbench"
    result = CliRunner().invoke(cli, checked[1:], catch_exceptions=False)
    assert result.exit_code == 0
    assert "It can be used: cfbench run --dataset ./loans" in result.output
    result = CliRunner().invoke(cli, shown[1:], catch_exceptions=False)
    assert result.exit_code == 0
    assert "10 rows, 4 features, 2 of them categorical; user: Applicant" in result.output


def test_the_command_annotates_a_table(loans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(loans.parent)
    header, *rows = fenced("csv").splitlines()
    Path("table.csv").write_text("\n".join([header, *rows * 10]), encoding="utf-8")
    words = fenced("sh").split()
    assert words[0] == "cfbench"
    result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    dataset = load_folder(loans.parent / "my-loans", "my-loans")
    assert dataset.space.names == ("id", "age", "income", "job", "region")  # ten rows have the same id
    assert dataset.class_labels[dataset.target] == "yes"


def test_the_frame_is_annotated() -> None:
    names: dict[str, Any] = {}
    exec(fenced("python"), names)
    assert names["loans"].dataset.class_counts == (70, 30)  # clerks in every second row, three of five ages above 35


@pytest.fixture
def related(loans: Path) -> Path:
    """Return the folder with the relations at the end of its annotation."""
    file = loans / "annotations.toml"
    file.write_text(f"{file.read_text('utf-8')}\n{fenced('toml', 1)}", encoding="utf-8")
    return loans


def test_the_relations_are_kept_by_all_rows_and_shown(related: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = load_folder(related, "loans")
    assert broken_relations(dataset.space, dataset.X) == {}
    monkeypatch.chdir(related.parent)
    result = CliRunner().invoke(cli, ["datasets", "show", "./loans"], catch_exceptions=False)
    assert result.output.split("Relations:\n")[1].splitlines()[:3] == [
        "- income <= 0.3 * (age - 13)",
        "- if job = none then income <= 1.5",
        "- job never from employed to none",
    ]


def test_the_number_of_rows_that_break_a_relation_is_shown(related: Path) -> None:
    table = related / "data.csv"
    table.write_text(table.read_text("utf-8").replace("3,23,0.9,none", "3,23,1.9,none"), encoding="utf-8")
    result = CliRunner().invoke(cli, ["datasets", "show", str(related)], catch_exceptions=False)
    assert "if job = none then income <= 1.5 (broken by 1 of 10 rows, the first is row 3)" in result.output


@pytest.mark.slow
def test_a_run_on_data_with_relations(related: Path, tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    lines = [fenced("csv").splitlines()[0]]
    for number in range(200):
        age, job = int(draws.integers(18, 91)), ("employed", "self-employed", "none")[number % 3]
        income = round(float(draws.uniform(0, min(10, 0.3 * (age - 13), 1.5 if job == "none" else 10))), 2)
        lines.append(f"{number},{age},{income},{job},{1 + number % 2},{'yes' if income > 1.4 else 'no'}")
    (related / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = cfbench.run(
        {
            "datasets": [str(related)],
            "models": ["random-forest[n_estimators=10,min_samples_split=2,max_features=sqrt]"],
            "searchers": [
                "cogs[population_size=40,n_generations=10]",
                "sparse-sweep[n_rows=1000]",
                "cma-es[n_rows=500,population_size=20]",
                "random-search[n_rows=500]",
                "nearest-unlike",
                "lore",
                "exact-trees",
            ],
            "constraints": [True],
            "folds": [0],
        },
        points=8,
        repetitions=1,
        tracking="none",
        results=tmp_path / "results",
    )
    assert not result.report.failures
    skipped = {(cell.info.searcher, cell.skipped) for cell in Record.open(tmp_path / "results").cells() if cell.skipped}
    assert skipped == {
        (name, f"{name} does not handle relations between features, and loans has them")
        for name in ("lore", "exact-trees")
    }
    space = load_folder(related, "loans").space
    searches = cfbench.load_record(tmp_path / "results")
    assert set(searches["status"]) == {"found"}
    for z, x in zip(searches["z"], searches["x"], strict=True):
        assert space.objection(np.array(z), np.array(x), constraints=True) is None


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
    file.write_text(fenced("python", 1), encoding="utf-8")
    entry = build_registry(objects=[import_file(file)]).dataset("boxes").entry
    assert entry.load(DataSource((), tmp_path)).class_counts == (5, 5)


@pytest.mark.parametrize("key", [*FeatureTable.model_fields, *LabelTable.model_fields])
def test_every_key_is_described(key: str) -> None:
    assert f"`{key}`" in PAGE
