"""What the data sets' plugin registers, the user's folders above all."""

from __future__ import annotations

import hashlib
import pickle
import shutil
from pathlib import Path

import pytest

from cfbench import DatasetEntry, DataSource
from cfbench.errors import DataError
from cfbench.registry.registry import RegistryOptions, build_registry
from cfbench.study.plan import make_plan
from cfbench.study.study import Study
from cfbench_datasets.plugin import cfbench_register_datasets, folder_names
from tests.unit.tables.folders import write_folder


def of_users(folders: list[Path]) -> list[DatasetEntry]:
    return [entry for entry in cfbench_register_datasets(folders) if entry.folder is not None]


@pytest.mark.parametrize(
    ("folder", "name"),
    [("loans", "loans"), ("My Loans_2024", "my-loans-2024"), ("--x--", "x"), ("日本", "folder")],
)
def test_names_are_kebab_case(tmp_path: Path, folder: str, name: str) -> None:
    assert folder_names([tmp_path / folder], ["credit", "wine"]) == [name]


def test_a_name_that_is_taken_gets_a_part_of_the_files_digest(tmp_path: Path) -> None:
    (tmp_path / "wine").mkdir()
    (tmp_path / "wine" / "data.csv").write_bytes(b"a,b\n")
    digest = hashlib.blake2b(b"a,b\n").hexdigest()
    assert folder_names([tmp_path / "wine"], ["credit", "wine"]) == [f"wine-{digest[:6]}"]


def test_folders_of_one_name_have_the_same_names_in_any_order(tmp_path: Path) -> None:
    folders = [tmp_path / parent / "loans" for parent in "abc"]
    for number, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "annotations.toml").write_text(f"target = {number}")
    names = {entry.folder: entry.name for entry in of_users(folders)}
    assert len(set(names.values())) == 3
    assert {entry.folder: entry.name for entry in of_users(folders[::-1])} == names


def test_copies_of_one_folder_are_numbered(tmp_path: Path) -> None:
    names = folder_names([tmp_path / parent / "loans" for parent in "abc"], [])
    assert [name[12:] for name in names] == ["", "-copy-2", "-copy-3"]


def test_a_broken_folder_fails_when_it_is_loaded_and_not_before(tmp_path: Path) -> None:
    good = write_folder(tmp_path, "good")
    source = DataSource((), tmp_path)
    broken, sound = of_users([tmp_path / "nowhere", good])
    with pytest.raises(DataError, match="nowhere is not a folder"):
        broken.load(source)
    assert sound.load(source).name == "good"


def test_a_folder_has_the_card_that_lies_in_it(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    (entry,) = of_users([folder])
    assert entry.card is not None
    assert entry.card() == ""
    (folder / "CARD.md").write_text("# Loans\n")
    assert entry.card() == "# Loans\n"


def test_the_registry_finds_a_folder_by_name_and_by_path(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, "My Loans")
    registry = build_registry(RegistryOptions(folders=(folder,)))
    entry = registry.dataset("my-loans").entry
    assert registry.dataset(str(folder)).entry is entry
    assert entry.load(DataSource((), tmp_path)).n == 10


def test_entries_travel_between_processes(tmp_path: Path) -> None:
    (entry,) = of_users([write_folder(tmp_path)])
    source = DataSource((), tmp_path)
    assert pickle.loads(pickle.dumps(entry)).load(source).digest == entry.load(source).digest


def test_cells_of_a_folder_are_known_by_its_content_in_any_order_and_alone(tmp_path: Path) -> None:
    first, second = tmp_path / "first" / "loans", tmp_path / "second" / "loans"
    shutil.copytree(write_folder(tmp_path, "one"), first)
    shutil.copytree(
        write_folder(tmp_path, "other", annotation=lambda text: text.replace("[18, 90]", "[18, 95]")), second
    )
    renamed = tmp_path / "people"
    shutil.copytree(first, renamed)

    def keys(*folders: Path) -> list[str]:
        registry = build_registry(RegistryOptions(folders=folders))
        datasets = tuple(map(str, folders))
        study = Study(datasets=datasets, models=("random-forest",), searchers=("random-search",), folds=(0,))
        return [cell.info.key for cell in make_plan(study, registry, DataSource((), tmp_path)).cells]

    assert [*keys(first), *keys(second)] == keys(first, second) == keys(second, first)[::-1]
    assert keys(renamed) == keys(first)
    assert len(set(keys(first, second))) == 2
