"""A small, good folder, and ways to spoil it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.errors import DataError
from cfbench.tables.folder import load_folder

Edit = Callable[[str], str]

ANNOTATION = """
user = "Applicant"

[label]
column = "repaid"
classes = ["no", "yes"]
target = "yes"

[[features]]
name = "age"
kind = "numerical"
interval = [18, 90]
step = 1
constraint = ">="
perturbation = { increase = 2 }

[[features]]
name = "income"
kind = "numerical"
interval = [0, 10]
perturbation = { decrease = 0.1, increase = 0.05, relative = true }

[[features]]
name = "job"
kind = "categorical"
categories = ["none", "employed", "own business"]
perturbation = { categories = ["employed", "none"] }

[[features]]
name = "region"
kind = "categorical"
categories = [7, 9]
labels = ["north", "south"]
constraint = "="
"""

ROWS = [
    ["34", "2.5", "employed", "7", "yes"],
    ["51", "4.25", "employed", "9", "yes"],
    ["23", "0.9", "none", "7", "no"],
    ["45", "3.1", "own business", "7", "yes"],
    ["29", "1.2", "none", "9", "no"],
    ["62", "2", "employed", "9.0", "yes"],
    ["38", "1.1", "own business", "7", "no"],
    ["27", "0.1", "employed", "9", "yes"],
    ["55", "0.7", "none", "9", "no"],
    ["41", "1.4", "own business", "7", "no"],
]
TABLE = "\n".join(["age,income,job,region,repaid", *(",".join(row) for row in ROWS)]) + "\n"


def unchanged(text: str) -> str:
    return text


def swap(old: str, new: str) -> Edit:
    """Replace a text once, which must be there."""

    def edit(text: str) -> str:
        assert text.count(old) >= 1
        return text.replace(old, new, 1)

    return edit


def write_folder(where: Path, name: str = "loans", *, annotation: Edit = unchanged, table: Edit = unchanged) -> Path:
    """Write the folder with its annotation and its table edited; return its path."""
    folder = where / name
    folder.mkdir()
    (folder / "annotations.toml").write_text(annotation(ANNOTATION), encoding="utf-8")
    (folder / "data.csv").write_text(table(TABLE), encoding="utf-8")
    return folder


def refusal(where: Path, *, annotation: Edit = unchanged, table: Edit = unchanged) -> str:
    """Return the loader's message about the folder as edited."""
    with pytest.raises(DataError) as caught:
        load_folder(write_folder(where, annotation=annotation, table=table), "loans")
    return str(caught.value)
