"""What this package registers: the data sets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path

from cfbench import Dataset, DatasetEntry, DataSource, hookimpl
from cfbench.tables import TextTable


def sklearn_table(loader: str, label: str) -> TextTable:
    """Return a table of scikit-learn in the form of a data.csv, with every bit of its values."""
    import sklearn.datasets

    found = getattr(sklearn.datasets, loader)()
    return TextTable(
        origin=f"sklearn.datasets.{loader}()",
        header=(*map(str, found.feature_names), label),
        rows=[
            [*(repr(float(value)) for value in row), str(code)]
            for row, code in zip(found.data, found.target, strict=True)
        ],
    )


_HERE = Path(__file__).parent


@hookimpl
def cfbench_register_datasets(folders: Sequence[Path]) -> Iterable[DatasetEntry]:
    """Register cfbench's data sets and the user's folders; a file is read only when its data set is used."""
    own = [
        _entry("credit", "Credit risk: South German Credit, 1000 applicants for a loan", _shipped),
        _entry("income", "Income: 1883 persons of the Adult census extract", _shipped),
        _entry("housing", "House price: 506 tracts of Boston", _shipped),
        _entry("recidivism", "Recidivism: 2000 defendants with a COMPAS score", _shipped),
        _entry(
            "productivity",
            "Productivity: 1196 days of garment teams, three classes, not shipped",
            _productivity,
            shareable=False,
        ),
        _entry("wine", "Wine: 178 wines of three cultivars, three classes", _wine),
        _entry("adult", "Adult: all 48842 persons of the Adult census extract", _shipped),
        _entry("breast-cancer", "Breast cancer: 569 tumours, 30 numerical features", _breast_cancer),
        *(
            _entry(name, summary, _users_own, shareable=False)
            for name, summary in (
                ("heloc", "HELOC: 10459 applicants for a home equity line of credit, not shipped"),
                ("give-me-some-credit", "Give Me Some Credit: 120269 borrowers, not shipped"),
                ("law-school", "Law school: 21791 students, not shipped"),
                ("lending-club", "Lending Club: 9578 loans, not shipped"),
                ("bank-marketing", "Bank marketing: 41188 phone calls, not shipped"),
                ("credit-card-default", "Default of credit card clients: 30000 clients, not shipped"),
            )
        ),
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
    from cfbench.tables import FILE_NAME, table_of

    files = [table_of(folder), folder / FILE_NAME]
    return blake2b(b"".join(file.read_bytes() for file in files if file.is_file())).hexdigest()


def _entry(
    name: str, summary: str, load: Callable[[str, DataSource], Dataset], *, shareable: bool = True
) -> DatasetEntry:
    """Return the entry of a data set of this package; if its table is not shipped, its rows are not shareable."""
    card = partial(_card, _HERE / name)
    return DatasetEntry(name=name, summary=summary, load=partial(load, name), card=card, shareable=shareable)


def _shipped(name: str, source: DataSource) -> Dataset:
    return _of_folder(_HERE / name, name, source)


def _of_folder(folder: Path, name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    from cfbench.tables import load_folder

    return load_folder(folder, name)


def _productivity(name: str, source: DataSource) -> Dataset:
    from cfbench_datasets.garments import garments_table

    return _annotated(name, garments_table(source))


def _wine(name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    return _annotated(name, sklearn_table("load_wine", "cultivar"))


def _breast_cancer(name: str, source: DataSource) -> Dataset:  # noqa: ARG001 - every entry is given a source
    return _annotated(name, sklearn_table("load_breast_cancer", "diagnosis"))


def _users_own(name: str, source: DataSource) -> Dataset:
    from cfbench_datasets.user_tables import user_table

    return _annotated(name, user_table(name, source))


def _annotated(name: str, table: TextTable) -> Dataset:
    from cfbench.tables import FILE_NAME, make_dataset, read_annotation

    return make_dataset(name, read_annotation(_HERE / name / FILE_NAME), table)


def _card(folder: Path) -> str:
    from cfbench.tables import read_card

    return read_card(folder)
