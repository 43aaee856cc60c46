"""The generic loader: a folder with annotations.toml and data.csv is a data set, ours and a user's alike."""

from __future__ import annotations

from pathlib import Path

from cfbench import DataError, Dataset
from cfbench_datasets.annotation import FILE_NAME, Annotation, read_annotation
from cfbench_datasets.encoding import encode
from cfbench_datasets.table import Table, read_csv

TABLE_NAME = "data.csv"


def load_folder(folder: Path, name: str) -> Dataset:
    """Load the data set of a folder.

    Raises
    ------
    DataError
        With everything that is wrong with its files, see docs/add-a-dataset.md.
    """
    if not folder.is_dir():
        raise DataError(
            f"{folder} is not a folder; a data set is one that holds {FILE_NAME} and {TABLE_NAME}. Correct the path"
        )
    annotation = read_annotation(folder / FILE_NAME)
    return make_dataset(name, annotation, read_csv(folder / TABLE_NAME))


def make_dataset(name: str, annotation: Annotation, table: Table) -> Dataset:
    """Make a data set of an annotation and of a table that came from anywhere."""
    X, y = encode(table, annotation)
    return Dataset(
        name=name,
        X=X,
        y=y,
        space=annotation.space,
        target=annotation.target,
        class_labels=annotation.meanings,
        user=annotation.user,
    )


def read_card(folder: Path) -> str:
    """Return the text of the folder's CARD.md, or nothing where it has none.

    Raises
    ------
    DataError
        If it cannot be read as text.
    """
    card = folder / "CARD.md"
    try:
        return card.read_text(encoding="utf-8") if card.is_file() else ""
    except UnicodeDecodeError as error:
        raise DataError(f"{card}: byte {error.start} is not UTF-8 text; save the card as UTF-8") from None
    except OSError as error:
        raise DataError(f"{card} cannot be read: {error.strerror or error}; make it readable, or remove it") from None
