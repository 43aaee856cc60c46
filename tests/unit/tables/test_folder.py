"""The generic loader: what it makes of a good folder."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfbench import CategoricalPerturbation, Constraint, Kind, NumericalPerturbation
from cfbench.errors import DataError
from cfbench.space.dataset import N_FOLDS
from cfbench.tables.folder import FEWEST_ROWS_A_CLASS, load_folder
from tests.unit.tables.folders import refusal, write_folder


def test_a_good_folder_becomes_what_it_says(tmp_path: Path) -> None:
    dataset = load_folder(write_folder(tmp_path), "loans")
    assert (dataset.name, dataset.user, dataset.n, dataset.target) == ("loans", "Applicant", 10, 1)
    assert dataset.class_labels == ("no", "yes")
    assert dataset.class_counts == (5, 5)
    assert dataset.X[0].tolist() == [34.0, 2.5, 1.0, 0.0]
    assert dataset.X[5].tolist() == [62.0, 2.0, 1.0, 1.0]  # 9.0 is how pandas writes a 9 of a column with gaps
    assert dataset.y.tolist() == [1, 1, 0, 1, 0, 1, 0, 1, 0, 0]
    age, income, job, region = dataset.space.features
    assert (age.lower, age.upper, age.step, age.constraint) == (18.0, 90.0, 1.0, Constraint.ONLY_UP)
    assert age.perturbation == NumericalPerturbation(0.0, 2.0)
    assert income.perturbation == NumericalPerturbation(0.1, 0.05, relative=True)
    assert job.perturbation == CategoricalPerturbation((0, 1))
    assert (region.kind, region.categories) == (Kind.CATEGORICAL, ("north", "south"))
    assert (region.constraint, region.perturbation) == (Constraint.FIXED, None)


def test_a_compressed_table_is_read_like_a_plain_one(tmp_path: Path) -> None:
    plain, packed = write_folder(tmp_path, "plain"), write_folder(tmp_path, "packed")
    content = (packed / "data.csv").read_bytes()
    (packed / "data.csv").unlink()
    (packed / "data.csv.gz").write_bytes(gzip.compress(content))
    assert load_folder(packed, "loans").digest == load_folder(plain, "loans").digest
    (packed / "data.csv.gz").write_bytes(gzip.compress(content)[:-20])
    with pytest.raises(DataError, match=r"data\.csv\.gz cannot be read: .*It must be comma-separated text in UTF-8"):
        load_folder(packed, "loans")


def test_column_order_quotes_blank_lines_and_line_endings_do_not_matter(tmp_path: Path) -> None:
    plain, turned = write_folder(tmp_path, "plain"), write_folder(tmp_path, "turned")
    rows = [line.split(",") for line in (plain / "data.csv").read_text("utf-8").splitlines()]
    lines = [",".join(f'" {cell} "' for cell in reversed(row)) for row in rows]
    (turned / "data.csv").write_bytes(("\ufeff" + "\r\n".join([*lines, "", " "])).encode("utf-8"))
    assert load_folder(turned, "loans").digest == load_folder(plain, "loans").digest


def test_ignored_columns_are_left_out(tmp_path: Path) -> None:
    plain = write_folder(tmp_path, "plain")
    wider = write_folder(
        tmp_path,
        "wider",
        annotation=lambda text: 'ignore = ["x"]\n' + text,
        table=lambda text: "\n".join("x," + line for line in text.splitlines()),
    )
    assert load_folder(wider, "loans").digest == load_folder(plain, "loans").digest


def test_an_ignored_column_must_exist(tmp_path: Path) -> None:
    message = refusal(tmp_path, annotation=lambda text: 'ignore = ["x"]\n' + text)
    assert "the ignored column 'x' of annotations.toml has no column in the table" in message


def test_the_smallest_class_fills_the_folds() -> None:
    assert FEWEST_ROWS_A_CLASS == N_FOLDS


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=6)
numbers = st.floats(-1e6, 1e6)


@settings(max_examples=60)
@given(data=st.data())
def test_what_is_written_is_what_is_read(tmp_path: Path, data: st.DataObject) -> None:
    names = data.draw(st.lists(words, min_size=3, max_size=5, unique=True))
    categories = data.draw(st.lists(words, min_size=1, max_size=4, unique=True))
    classes = data.draw(st.lists(words, min_size=2, max_size=3, unique=True))
    label, coded, *numerical = names
    y = [code for code in range(len(classes)) for _ in range(5)]
    codes = data.draw(st.lists(st.integers(0, len(categories) - 1), min_size=len(y), max_size=len(y)))
    values = data.draw(st.lists(st.lists(numbers, min_size=len(y), max_size=len(y)), min_size=3, max_size=3))

    def quoted(content: str | list[str]) -> str:
        return json.dumps(content, ensure_ascii=False)

    lines = ["[label]", f"column = {quoted(label)}", f"classes = {quoted(classes)}", f"target = {quoted(classes[0])}"]
    lines += ["[[features]]", f"name = {quoted(coded)}", 'kind = "categorical"', f"categories = {quoted(categories)}"]
    for name in numerical:
        lines += ["[[features]]", f"name = {quoted(name)}", 'kind = "numerical"', "interval = [-1e6, 1e6]"]
    folder = tmp_path / "drawn"
    folder.mkdir(exist_ok=True)
    (folder / "annotations.toml").write_text("\n".join(lines), encoding="utf-8")
    with (folder / "data.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*numerical, label, coded])
        for row, code in enumerate(y):
            cells = [repr(values[i][row]) for i in range(len(numerical))]
            writer.writerow([*cells, classes[code], categories[codes[row]]])
    dataset = load_folder(folder, "drawn")
    assert dataset.y.tolist() == y
    assert dataset.X[:, 0].tolist() == codes
    for i in range(len(numerical)):
        assert dataset.X[:, 1 + i].tobytes() == np.array(values[i]).tobytes()
