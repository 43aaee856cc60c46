"""What the data sets' plugin registers, the user's folders above all."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench import DataError, DatasetEntry, DataSource
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench_datasets.plugin import cfbench_register_datasets, folder_name

WriteFolder = Callable[..., Path]


def of_users(folders: list[Path]) -> list[DatasetEntry]:
    return [entry for entry in cfbench_register_datasets(folders) if entry.folder is not None]


@pytest.mark.parametrize(
    ("folder", "name"),
    [("loans", "loans"), ("My Loans_2024", "my-loans-2024"), ("--x--", "x"), ("日本", "folder"), ("wine", "wine-2")],
)
def test_names_are_kebab_case_and_free(tmp_path: Path, folder: str, name: str) -> None:
    assert folder_name(tmp_path / folder, ["credit", "wine"]) == name


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    entries = of_users([tmp_path / "a" / "loans", tmp_path / "b" / "loans", tmp_path / "c" / "loans"])
    assert [entry.name for entry in entries] == ["loans", "loans-2", "loans-3"]


def test_a_broken_folder_fails_when_it_is_loaded_and_not_before(tmp_path: Path, write_folder: WriteFolder) -> None:
    good = write_folder("good")
    source = DataSource((), tmp_path)
    broken, sound = of_users([tmp_path / "nowhere", good])
    with pytest.raises(DataError, match="nowhere is not a folder"):
        broken.load(source)
    assert sound.load(source).name == "good"


def test_a_folder_has_the_card_that_lies_in_it(write_folder: WriteFolder) -> None:
    folder = write_folder()
    (entry,) = of_users([folder])
    assert entry.card is not None
    assert entry.card() == ""
    (folder / "CARD.md").write_text("# Loans\n")
    assert entry.card() == "# Loans\n"


def test_the_registry_finds_a_folder_by_name_and_by_path(tmp_path: Path, write_folder: WriteFolder) -> None:
    folder = write_folder("My Loans")
    registry = build_registry(RegistryOptions(folders=(folder,)))
    entry = registry.dataset("my-loans").entry
    assert registry.dataset(str(folder)).entry is entry
    assert entry.load(DataSource((), tmp_path)).n == 10


def test_entries_travel_between_processes(tmp_path: Path, write_folder: WriteFolder) -> None:
    (entry,) = of_users([write_folder()])
    source = DataSource((), tmp_path)
    assert pickle.loads(pickle.dumps(entry)).load(source).digest == entry.load(source).digest


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys; from cfbench_datasets.plugin import cfbench_register_datasets as r; list(r([])); "
        "print([name for name in ('pandas', 'sklearn', 'pooch', 'mlflow') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
