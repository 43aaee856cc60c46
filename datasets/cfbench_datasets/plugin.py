"""What this package registers: the data sets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from cfbench import Dataset, DatasetEntry, DataSource, hookimpl
from cfbench_datasets.encoding import Table


def wine_table() -> Table:
    """Return scikit-learn's table in the form of a data.csv, every value to its last bit."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    return Table(
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
    """Register our six data sets and the user's folders; no file is read before its data set is asked for."""
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
    taken = [entry.name for entry in own]
    for folder in folders:
        name = folder_name(folder, taken)
        taken.append(name)
        yield DatasetEntry(
            name=name,
            summary=f"the folder {folder}",
            load=partial(_of_folder, folder, name),
            folder=folder,
            card=partial(_card, folder),
        )


def folder_name(folder: Path, taken: Sequence[str]) -> str:
    """Return the folder's name in kebab-case, with a number where another data set has that name already."""
    plain = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "folder"
    name, number = plain, 2
    while name in taken:
        name, number = f"{plain}-{number}", number + 1
    return name


def _entry(name: str, summary: str, load: Callable[[str, DataSource], Dataset]) -> DatasetEntry:
    return DatasetEntry(name=name, summary=summary, load=partial(load, name), card=partial(_card, _HERE / name))


def _shipped(name: str, source: DataSource) -> Dataset:
    return _of_folder(_HERE / name, name, source)


def _of_folder(folder: Path, name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    from cfbench_datasets.encoding import load_folder

    return load_folder(folder, name)


def _productivity(name: str, source: DataSource) -> Dataset:
    from cfbench_datasets.annotation import FILE_NAME, read_annotation
    from cfbench_datasets.encoding import make_dataset
    from cfbench_datasets.garments import garments_table

    return make_dataset(name, read_annotation(_HERE / name / FILE_NAME), garments_table(source))


def _wine(name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    from cfbench_datasets.annotation import FILE_NAME, read_annotation
    from cfbench_datasets.encoding import make_dataset

    return make_dataset(name, read_annotation(_HERE / name / FILE_NAME), wine_table())


def _card(folder: Path) -> str:
    from cfbench_datasets.encoding import read_card

    return read_card(folder)
