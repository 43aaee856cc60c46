"""Bad tables: the loader names the file, the column, the row, the value and what is allowed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cfbench.errors import DataError
from cfbench_datasets.encoding import load_folder

Edit = Callable[[str], str]
Refusal = Callable[..., str]
WriteFolder = Callable[..., Path]


def cell(row: int, column: int, value: str) -> Edit:
    """Edit one cell of the table; row 0 is the header."""

    def edit(text: str) -> str:
        lines = [line.split(",") for line in text.splitlines()]
        lines[row][column] = value
        return "\n".join(",".join(line) for line in lines) + "\n"

    return edit


def swap(old: str, new: str) -> Edit:
    def edit(text: str) -> str:
        assert text.count(old) >= 1
        return text.replace(old, new, 1)

    return edit


BAD_TABLES: dict[str, tuple[Edit, list[str]]] = {
    "missing column": (
        swap(",job,", ",jobb,"),
        ["feature 'job'", "no column", "Did you mean 'jobb'?", "'jobb' is not annotated", "ignore = [...]"],
    ),
    "label unknown": (swap(",repaid", ",paid"), ["label column 'repaid'", "no column", "'paid'"]),
    "extra column": (
        lambda text: re.sub("$", ",1", text, flags=re.MULTILINE).removesuffix(",1"),
        ["column '1' is not annotated; add a [[features]] table"],
    ),
    "gap": (cell(3, 0, ""), ["column 'age', row 3 (line 4): '' is missing", "[18, 90]", "drop the row"]),
    "gap in a category": (cell(3, 2, ""), ["column 'job', row 3 (line 4): '' is missing", "'own business'"]),
    "NaN": (cell(2, 1, "NaN"), ["column 'income', row 2 (line 3): 'NaN' is not finite", "[0, 10]"]),
    "infinity": (cell(2, 1, "-inf"), ["column 'income', row 2 (line 3): '-inf' is not finite"]),
    "no number": (cell(2, 1, "4'5"), ["column 'income', row 2 (line 3)", "is no number"]),
    "digits grouped": (cell(2, 1, "1_0"), ["'1_0' is no number"]),
    "unseen category": (
        cell(1, 2, "pensioner"),
        ["column 'job', row 1 (line 2): 'pensioner' is no annotated category", "'employed'", "annotations.toml"],
    ),
    "unseen class": (cell(1, 4, "maybe"), ["column 'repaid', row 1 (line 2): 'maybe' is no annotated class", "'no'"]),
    "outside": (cell(1, 0, "17"), ["column 'age', row 1 (line 2): '17' is outside the interval [18, 90]", "widen"]),
    "off the step": (cell(1, 0, "20.5"), ["'20.5' is no multiple of the step 1"]),
    "one class": (lambda text: text.replace("no\n", "yes\n"), ["all 10 rows have the class 'yes'"]),
    "small class": (cell(3, 4, "yes"), ["class 'no' has 4 rows; allowed: 5 or more"]),
    "repeated column": (swap("income,", "age,"), ["column 'age' occurs 2 times"]),
    "column without a name": (swap("age,", ","), ["column 1 has no name", "index=False"]),
    "ragged row": (swap("34,2.5,employed", "34,employed"), ["line 2 has 4 cells, the header has 5"]),
    "empty row": (swap("34,2.5,employed,7,yes", ",,,,"), ["column 'age', row 1 (line 2): '' is missing"]),
    "empty file": (lambda _: "", ["data.csv is empty"]),
    "no rows": (lambda text: text.splitlines()[0], ["it has a header and no row"]),
    "semicolons": (lambda text: text.replace(",", ";"), ["separated by ';'", "commas"]),
    "open quote": (swap("employed", '"employed'), ["cannot be read from line 2 on", "one at its end"]),
}


@pytest.mark.parametrize(("edit", "words"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
def test_a_bad_table_is_refused(tmp_path: Path, refusal: Refusal, edit: Edit, words: list[str]) -> None:
    message = refusal(table=edit)
    assert str(tmp_path / "loans" / "data.csv") in message
    for word in words:
        assert word in message


def test_missing_files_are_named(tmp_path: Path, write_folder: WriteFolder) -> None:
    folder = write_folder()
    with pytest.raises(DataError, match="nowhere is not a folder"):
        load_folder(tmp_path / "nowhere", "loans")
    (folder / "data.csv").unlink()
    with pytest.raises(DataError, match=r"data\.csv does not exist"):
        load_folder(folder, "loans")
    (folder / "annotations.toml").unlink()
    with pytest.raises(DataError, match=r"annotations\.toml does not exist"):
        load_folder(folder, "loans")


@pytest.mark.parametrize("name", ["data.csv", "annotations.toml"])
def test_files_that_are_no_text_are_refused(write_folder: WriteFolder, name: str) -> None:
    folder = write_folder()
    (folder / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=f"{re.escape(name)} cannot be read.*UTF-8"):
        load_folder(folder, "loans")


@pytest.mark.parametrize("name", ["data.csv", "annotations.toml"])
def test_pipes_and_devices_are_refused(write_folder: WriteFolder, name: str) -> None:
    folder = write_folder()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DataError, match=f"{re.escape(name)} is a pipe or a device"):
        load_folder(folder, "loans")


def test_all_problems_of_a_table_are_reported_together(refusal: Refusal) -> None:
    def spoil(text: str) -> str:
        for row, column, value in [(1, 0, "17"), (2, 0, "12"), (4, 1, "x"), (9, 4, "perhaps")]:
            text = cell(row, column, value)(text)
        return text

    message = refusal(table=spoil)
    assert "3 problems" in message
    assert "column 'age', row 1 (line 2): '17' is outside" in message
    assert "[2 such cells, rows 1, 2]" in message
    assert "column 'income', row 4 (line 5): 'x'" in message
    assert "column 'repaid', row 9 (line 10): 'perhaps'" in message


def test_equal_problems_of_a_column_are_one(refusal: Refusal) -> None:
    def empty(text: str) -> str:
        header, *rows = text.splitlines()
        return "\n".join([header, *("," + row.split(",", 1)[1] for row in rows)])

    message = refusal(table=empty)
    assert "1 problem:" in message
    assert "[10 such cells, rows 1, 2, 3, 4, 5, ...]" in message


def test_a_long_list_of_problems_is_cut(refusal: Refusal) -> None:
    def widen(text: str) -> str:
        header, *rows = text.splitlines()
        return "\n".join([",".join([header, *(f"c{i}" for i in range(14))]), *(row + ",1" * 14 for row in rows)])

    message = refusal(table=widen)
    assert "14 problems" in message
    assert "'c9' is" in message
    assert "'c10' is" not in message
    assert "and 4 more" in message


def test_decimal_steps_are_recognised(refusal: Refusal) -> None:
    message = refusal(annotation=swap("interval = [0, 10]", "interval = [0, 10]\nstep = 0.1"))
    assert "column 'income', row 2 (line 3): '4.25' is no multiple of the step 0.1" in message
    assert "1 problem:" in message  # 0.7 / 0.1 is not 7 in doubles, and yet 0.7 is a multiple
