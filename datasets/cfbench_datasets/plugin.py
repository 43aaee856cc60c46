"""What this package registers: the data sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

from cfbench import Dataset, DatasetEntry, DataSource, hookimpl
from cfbench.tables import TextTable


def wine_table() -> TextTable:
    """Return scikit-learn's table in the form of a data.csv, with every bit of its values."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    return TextTable(
        origin="sklearn.datasets.load_wine()",
        header=(*wine.feature_names, "cultivar"),
        rows=[
            [*(repr(float(value)) for value in row), str(label)]
            for row, label in zip(wine.data, wine.target, strict=True)
        ],
    )


_HERE = Path(__file__).parent


@hookimpl
def cfbench_register_datasets(folders: Sequence[Path]) -> Iterable[DatasetEntry]:
    """Register cfbench's six data sets and the user's folders; a file is read only when its data set is used."""
    own = [
        _entry("credit", "Credit risk: South German Credit, 1000 applicants for a loan", _shipped),
        _entry("income", "Income: 1883 persons of the Adult census extract", _shipped),
        _entry("housing", "House price: 506 tracts of Boston", _shipped),
        _entry("recidivism", "Recidivism: 2000 defendants with a COMPAS score", _shipped),
        replace(
            _entry(
                "productivity", "Productivity: 1196 days of garment teams, three classes, not shipped", _productivity
            ),
            shareable=False,  # the table is not shipped, so its rows are not either
        ),
        _entry("wine", "Wine: 178 wines of three cultivars, three classes", _wine),
    ]
    yield from own
    for folder, name in zip(folders, folder_names(folders, [entry.name for entry in own]), strict=True):
        yield DatasetEntry(
            name=name,
            summary=f"the folder {folder}",
            load=partial(_of_folder, folder, name),
            folder=folder,
            card=partial(_card, folder),
        )


def folder_names(folders: Sequence[Path], taken: Iterable[str]) -> list[str]:
    """Return a name per folder: its own in kebab-case, and a part of its files' digest where it is not the only one.

    So the names do not depend on the order of the folders. Copies of one folder are numbered.
    """
    plain = [re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "folder" for folder in folders]
    several = Counter([*plain, *taken])
    found: list[str] = []
    for folder, name in zip(folders, plain, strict=True):
        label = name if several[name] == 1 else f"{name}-{_files_digest(folder)[:6]}"
        copies = sum(one == label or one.startswith(f"{label}-copy-") for one in found)
        found.append(label if copies == 0 else f"{label}-copy-{copies + 1}")
    return found


def _files_digest(folder: Path) -> str:
    files = [folder / name for name in ("data.csv", "annotations.toml")]
    return blake2b(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _entry(name: str, summary: str, load: Callable[[str, DataSource], Dataset]) -> DatasetEntry:
    return DatasetEntry(name=name, summary=summary, load=partial(load, name), card=partial(_card, _HERE / name))


def _shipped(name: str, source: DataSource) -> Dataset:
    return _of_folder(_HERE / name, name, source)


def _of_folder(folder: Path, name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    from cfbench.tables import load_folder

    return load_folder(folder, name)


def _productivity(name: str, source: DataSource) -> Dataset:
    from cfbench.tables import FILE_NAME, make_dataset, read_annotation
    from cfbench_datasets.garments import garments_table

    return make_dataset(name, read_annotation(_HERE / name / FILE_NAME), garments_table(source))


def _wine(name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    from cfbench.tables import FILE_NAME, make_dataset, read_annotation

    return make_dataset(name, read_annotation(_HERE / name / FILE_NAME), wine_table())


def _card(folder: Path) -> str:
    from cfbench.tables import read_card

    return read_card(folder)
