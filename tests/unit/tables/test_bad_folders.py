"""Bad folders: the loader names the file, the feature or column, the key or row, the value and what is allowed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cfbench.errors import DataError
from cfbench.tables.folder import load_folder
from tests.unit.tables.folders import Edit, refusal, swap, write_folder


def cell(row: int, column: int, value: str) -> Edit:
    """Edit one cell of the table; row 0 is the header."""

    def edit(text: str) -> str:
        lines = [line.split(",") for line in text.splitlines()]
        lines[row][column] = value
        return "\n".join(",".join(line) for line in lines) + "\n"

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
def test_a_bad_table_is_refused(tmp_path: Path, edit: Edit, words: list[str]) -> None:
    message = refusal(tmp_path, table=edit)
    assert str(tmp_path / "loans" / "data.csv") in message
    for word in words:
        assert word in message


def test_missing_files_are_named(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    with pytest.raises(DataError, match="nowhere is not a folder"):
        load_folder(tmp_path / "nowhere", "loans")
    (folder / "data.csv").unlink()
    with pytest.raises(DataError, match=r"data\.csv does not exist"):
        load_folder(folder, "loans")
    (folder / "annotations.toml").unlink()
    with pytest.raises(DataError, match=r"annotations\.toml does not exist"):
        load_folder(folder, "loans")


@pytest.mark.parametrize("name", ["data.csv", "annotations.toml"])
def test_files_that_are_no_text_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path)
    (folder / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=f"{re.escape(name)} cannot be read.*UTF-8"):
        load_folder(folder, "loans")


@pytest.mark.parametrize("name", ["data.csv", "annotations.toml"])
def test_pipes_and_devices_are_refused(tmp_path: Path, name: str) -> None:
    folder = write_folder(tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DataError, match=f"{re.escape(name)} is a pipe or a device"):
        load_folder(folder, "loans")


def test_all_problems_of_a_table_are_reported_together(tmp_path: Path) -> None:
    def spoil(text: str) -> str:
        for row, column, value in [(1, 0, "17"), (2, 0, "12"), (4, 1, "x"), (9, 4, "perhaps")]:
            text = cell(row, column, value)(text)
        return text

    message = refusal(tmp_path, table=spoil)
    assert "3 problems" in message
    assert "column 'age', row 1 (line 2): '17' is outside" in message
    assert "[2 such cells, rows 1, 2]" in message
    assert "column 'income', row 4 (line 5): 'x'" in message
    assert "column 'repaid', row 9 (line 10): 'perhaps'" in message


def test_equal_problems_of_a_column_are_one(tmp_path: Path) -> None:
    def empty(text: str) -> str:
        header, *rows = text.splitlines()
        return "\n".join([header, *("," + row.split(",", 1)[1] for row in rows)])

    message = refusal(tmp_path, table=empty)
    assert "1 problem:" in message
    assert "[10 such cells, rows 1, 2, 3, 4, 5, ...]" in message


def test_a_long_list_of_problems_is_cut(tmp_path: Path) -> None:
    def widen(text: str) -> str:
        header, *rows = text.splitlines()
        return "\n".join([",".join([header, *(f"c{i}" for i in range(114))]), *(row + ",1" * 114 for row in rows)])

    message = refusal(tmp_path, table=widen)
    assert "114 problems" in message
    assert "'c99' is" in message
    assert "'c100' is" not in message
    assert "and 14 more" in message


def test_decimal_steps_are_recognised(tmp_path: Path) -> None:
    message = refusal(tmp_path, annotation=swap("interval = [0, 10]", "interval = [0, 10]\nstep = 0.1"))
    assert "column 'income', row 2 (line 3): '4.25' is no multiple of the step 0.1" in message
    assert "1 problem:" in message  # 0.7 / 0.1 is not 7 in doubles, and yet 0.7 is a multiple


BAD_ANNOTATIONS: dict[str, tuple[Edit, list[str]]] = {
    "nested past Python's limit": (
        swap("user =", "user = " + "[" * 5000 + "]" * 5000 + " #"),
        ["cannot be read", "nested too deeply"],
    ),
    "very many unknown keys": (
        lambda text: "".join(f"key{number} = 1\n" for number in range(20_000)) + text,
        ["unknown key 'key0'", "101 problems"],
    ),
    "broken TOML": (swap("[label]", "[label"), ["is not valid TOML", "line 4"]),
    "unknown key": (swap("user =", "usr ="), ["unknown key 'usr'. Did you mean 'user'?"]),
    "unknown key of a feature": (
        swap("constraint =", "constrain ="),
        ["feature 'age': unknown key 'constrain'. Did you mean 'constraint'?"],
    ),
    "unknown key of a perturbation": (
        swap("decrease =", "decreases ="),
        ["feature 'income', perturbation: unknown key 'decreases'. Did you mean 'decrease'?"],
    ),
    "unknown key of the label": (
        swap("column =", "colum ="),
        ["[label]: unknown key 'colum'", "key 'column' is missing"],
    ),
    "missing key": (swap('target = "yes"', ""), ["[label]: key 'target' is missing"]),
    "missing name": (swap('name = "age"', ""), ["[[features]] table 1: key 'name' is missing"]),
    "missing interval": (swap("interval = [18, 90]", ""), ["feature 'age'", "needs the key 'interval'"]),
    "missing categories": (swap("categories = [7, 9]", ""), ["feature 'region'", "needs the key 'categories'"]),
    "wrong type within": (swap("[18, 90]", '[18, "x"]'), ["feature 'age': entry 2 of 'interval' is 'x'", "a number"]),
    "boolean category": (
        swap("[7, 9]", "[7, true]"),
        ["line 32: feature 'region': entry 2 of 'categories' is True", 'write true as data.csv does, such as "True"'],
    ),
    "blank category": (swap('["none",', '[" ",'), ["entry 1 of 'categories' is ' '", "no blanks"]),
    "three ends": (swap("[18, 90]", "[18, 40, 90]"), ["'interval'", "[minimum, maximum]"]),
    "table expected": (swap("{ increase = 2 }", "2"), ["'perturbation' is 2; allowed: a table"]),
    "minimum not below maximum": (swap("[18, 90]", "[90, 90]"), ["feature 'age'", "[90.0, 90.0]", "below its maximum"]),
    "interval past the largest number": (
        swap("[0, 10]", "[-1e308, 1e308]"),
        ["feature 'income'", "wider than the largest number"],
    ),
    "perturbation to no category": (
        swap('{ categories = ["employed", "none"] }', "{ categories = [] }"),
        ["its perturbation leads to no category; list some, or leave the perturbation out"],
    ),
    "endless interval": (swap("[0, 10]", "[0, inf]"), ["entry 2 of 'interval' is inf", "finite"]),
    "kind": (swap('kind = "numerical"', 'kind = "number"'), ["'kind' is 'number'", "'numerical' or 'categorical'"]),
    "constraint": (swap('">="', '">"'), ["feature 'age': key 'constraint' is '>'", "'<='"]),
    "constraint without an order": (swap('constraint = "="', 'constraint = "<="'), ["feature 'region'", "order"]),
    "negative perturbation": (swap("increase = 2", "increase = -2"), ["feature 'age'", "-2.0", ">= 0"]),
    "empty perturbation": (swap("{ increase = 2 }", "{ }"), ["feature 'age'", "{ decrease = ..., increase = ... }"]),
    "perturbation of the other kind": (
        swap("{ increase = 2 }", '{ categories = "all" }'),
        ["feature 'age'", "{ decrease = ..., increase = ... }"],
    ),
    "numbers for categories": (
        swap('{ categories = ["employed", "none"] }', "{ increase = 1 }"),
        ["feature 'job'", "{ categories = [...] }"],
    ),
    "unknown category of a perturbation": (
        swap('["employed", "none"]', '["employd"]'),
        ["feature 'job'", "unknown category of the perturbation 'employd'. Did you mean 'employed'?"],
    ),
    "neither list nor all": (swap('["employed", "none"]', '"any"'), ["'categories' is 'any'", 'or "all"']),
    "annotation of an unknown feature": (
        swap('name = "age"', 'name = "agee"'),
        ["feature 'agee' of annotations.toml has no column", "Did you mean 'age'?"],
    ),
    "labels": (swap('["north", "south"]', '["north"]'), ["feature 'region'", "1 labels for 2 categories"]),
    "categories of a number": (swap("step = 1", 'categories = ["a"]'), ["feature 'age'", "no 'categories'"]),
    "interval of a category": (
        swap("categories = [7, 9]", "categories = [7, 9]\ninterval = [7, 9]"),
        ["no 'interval'"],
    ),
    "category twice": (swap("[7, 9]", '[7, "7"]'), ["feature 'region'", "twice"]),
    "step": (swap("step = 1", "step = 0"), ["feature 'age'", "step is 0.0", "positive"]),
    "step of a category": (swap("[7, 9]", "[7, 9]\nstep = 1"), ["feature 'region'", "no step"]),
    "feature twice": (swap('name = "income"', 'name = "age"'), ["feature 'age' is annotated 2 times"]),
    "label is a feature": (swap('column = "repaid"', 'column = "job"'), ["'job' is the label column and a feature"]),
    "unknown target": (swap('target = "yes"', 'target = "yess"'), ["unknown target class 'yess'. Did you mean 'yes'?"]),
    "one annotated class": (swap('["no", "yes"]', '["yes"]'), ["needs two classes"]),
    "class twice": (swap('["no", "yes"]', '["yes", "yes"]'), ["lists a class twice"]),
    "meanings": (swap("[label]", '[label]\nmeanings = ["a"]'), ["'meanings' has 1 entries for 2 classes"]),
    "no feature": (lambda text: "features = []\n" + text[: text.index("[[features]]")], ["there is no feature"]),
}


@pytest.mark.parametrize(("edit", "words"), BAD_ANNOTATIONS.values(), ids=BAD_ANNOTATIONS.keys())
def test_a_bad_annotation_is_refused(tmp_path: Path, edit: Edit, words: list[str]) -> None:
    message = refusal(tmp_path, annotation=edit)
    assert str(tmp_path / "loans") in message
    for word in words:
        assert word in message


def test_every_problem_of_both_files_is_listed_with_its_line(tmp_path: Path) -> None:
    def spoil(text: str) -> str:
        for old, new in [
            ('kind = "numerical"\ninterval = [18, 90]', 'kind = "numeric"'),  # the kind hides no missing interval
            ("interval = [0, 10]", "interval = [10, 0]"),
            ('target = "yes"', 'target = "yess"'),
        ]:
            text = swap(old, new)(text)
        return text

    lines = refusal(tmp_path, annotation=spoil, table=swap("34,2.5,employed", "34,employed")).splitlines()
    assert [line.partition(": ")[0] for line in lines[1:5]] == [
        "  - line 11",
        "  - line 7",
        "  - line 9",
        "  - line 16",
    ]
    assert "allowed: 'numerical' or 'categorical'" in lines[1]
    assert "[label]: unknown target class 'yess'" in lines[2]
    assert "feature 'age': a numerical feature needs the key 'interval'" in lines[3]
    assert "feature 'income': its interval [10.0, 0.0] needs a minimum below its maximum" in lines[4]
    assert lines[6].startswith("  - line 2 has 4 cells, the header has 5")


def test_lines_are_left_out_where_tables_are_written_inline(tmp_path: Path) -> None:
    message = refusal(
        tmp_path,
        annotation=lambda text: text.split("[[features]]")[0].replace("user", "features = [{}]\nuser"),
    )
    assert "line 2: [[features]] table 1: key 'name' is missing" in message
