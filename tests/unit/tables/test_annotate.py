"""A first annotation: kinds, categories, gaps and questions, against values worked out by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cfbench
import cfbench.tables.annotate as annotate_module
from cfbench.errors import CfbenchError, DataError, UnknownNameError
from cfbench.tables.annotate import AnnotatedTable, Choices, TableError, annotate_file
from cfbench.tables.folder import load_folder

AGES = ["20", "31", "38", "45", "59"]


def text_of(columns: dict[str, Sequence[object]], delimiter: str = ",") -> str:
    rows = zip(*columns.values(), strict=True)
    return "\n".join([delimiter.join(columns), *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


def annotated(where: Path, columns: dict[str, Sequence[object]], **choices: Any) -> AnnotatedTable:
    path = where / "loans.csv"
    path.write_text(text_of(columns), encoding="utf-8")
    return annotate_file(path, Choices(**choices))


def table(made: AnnotatedTable, feature: str) -> dict[str, Any]:
    """Return the [[features]] table of a feature."""
    (found,) = [one for one in tomllib.loads(made.annotation)["features"] if one["name"] == feature]
    assert isinstance(found, dict)
    return found


def loans(n: int = 40) -> dict[str, Sequence[object]]:
    """Return 40 rows: ages of five values, incomes with cents, jobs, and a label of two classes."""
    return {
        "age": [AGES[row % 5] for row in range(n)],
        "income": [f"{1000 + 12.25 * row:.2f}" for row in range(n)],
        "job": [["clerk", "none", "clerk", "cook"][row % 4] for row in range(n)],
        "repaid": [["no", "yes"][row % 2] for row in range(n)],
    }


def test_the_first_annotation_of_a_table(tmp_path: Path) -> None:
    made = annotated(tmp_path, loans())
    content = tomllib.loads(made.annotation)
    assert content["label"] == {"column": "repaid", "classes": ["no", "yes"], "target": "yes"}
    assert content["ignore"] == []
    # 20 to 59: a tenth of the range is 3.9, so the bounds are multiples of 2; all ages are whole numbers
    assert table(made, "age") == {
        "name": "age", "kind": "numerical", "interval": [20, 60], "step": 1, "constraint": "none",
    }  # fmt: skip
    # 1000 to 1477.75: a tenth is 47.775, so multiples of 20; all incomes are multiples of 0.25, thus of 0.05
    assert table(made, "income")["interval"] == [1000, 1480]
    assert table(made, "income")["step"] == 0.05
    assert table(made, "job")["categories"] == ["clerk", "cook", "none"]  # 20, 10 and 10 rows
    assert made.dataset.n == 40
    assert made.dataset.X[3].tolist() == [45.0, 1036.75, 1.0]
    assert made.dataset.target == 1


def test_what_a_person_decides_is_asked_with_the_default(tmp_path: Path) -> None:
    lines = annotated(tmp_path, loans()).annotation.splitlines()
    asked = [line for line in lines if "# decide:" in line]
    assert len(asked) == annotated(tmp_path, loans()).questions == 10
    assert asked[0].startswith('column = "repaid"  # decide: is it the class? The default is a guess')
    assert asked[1] == 'target = "yes"  # decide: which class do users want? The default is a guess'
    assert asked[2] == "interval = [20, 60]  # decide: which values make sense? The table has 20 to 59"
    assert asked[3].startswith(
        'constraint = "none"  # decide: how may a person change it? "none": freely (the default)'
    )
    assert asked[4].startswith("# perturbation = { decrease = 2, increase = 2 }  # decide: may it change by itself")
    assert asked[-1].startswith('# perturbation = { categories = "all" }')
    given = annotated(tmp_path, loans(), label="repaid", target="no")
    assert given.questions == 8
    assert tomllib.loads(given.annotation)["label"]["target"] == "no"


def test_every_proposed_line_is_valid_when_it_is_uncommented(tmp_path: Path) -> None:
    made = annotated(tmp_path, loans())
    folder = made.save(tmp_path / "loans")
    edited = made.annotation.replace("# perturbation =", "perturbation =")
    (folder / "annotations.toml").write_text(edited, encoding="utf-8")
    features = load_folder(folder, "loans").space.features
    assert [feature.perturbation is not None for feature in features] == [True, True, True]


def test_a_saved_table_is_the_same_data_set_and_nothing_is_overwritten(tmp_path: Path) -> None:
    made = annotated(tmp_path, loans())
    folder = made.save(tmp_path / "loans")
    assert load_folder(folder, "loans").digest == made.dataset.digest
    with pytest.raises(DataError, match=r"data\.csv exists already|annotations\.toml exists already"):
        made.save(folder)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["0", "1"] * 20, "categorical"),
        (["1", "2", "3", "4"] * 10, "categorical"),  # ten rows per value
        (["1", "2", "3", "4"] * 9 + ["1"] * 3 + ["5"], "numerical"),  # fewer
        (["0.5", "1.5"] * 20, "numerical"),  # no whole numbers
        (["1.0", "2.0"] * 20, "categorical"),
        (["01", "02"] * 20, "categorical"),
        (["True", "False"] * 20, "categorical"),
    ],
)
def test_whole_numbers_of_few_values_are_categories_with_a_question(
    tmp_path: Path, cells: list[str], kind: str
) -> None:
    made = annotated(tmp_path, {**loans(), "code": cells}, label="repaid")
    assert table(made, "code")["kind"] == kind
    asked = "are 1 to 4 codes? That is the default. If they are amounts" in made.annotation
    assert asked == (cells[:4] == ["1", "2", "3", "4"] and kind == "categorical")


def test_the_users_kinds_are_taken(tmp_path: Path) -> None:
    columns = {**loans(), "children": ["0", "1", "2", "3"] * 10, "code": [f"c{row % 30}" for row in range(40)]}
    with pytest.raises(TableError, match="column 'code': it holds texts"):
        annotated(tmp_path, columns, label="repaid")
    kinds = {"children": "numerical", "code": "categorical"}
    made = annotated(tmp_path, columns, label="repaid", kinds=kinds)
    assert table(made, "children")["interval"] == [0, 3]
    assert len(table(made, "code")["categories"]) == 30
    assert "codes?" not in made.annotation
    with pytest.raises(TableError, match="column 'job': 'clerk', line 2 is no number"):
        annotated(tmp_path, columns, label="repaid", kinds={**kinds, "job": "numerical"})


def test_01_is_not_1(tmp_path: Path) -> None:
    made = annotated(tmp_path, {**loans(), "code": ["01", "1", "02", "2"] * 10}, label="repaid")
    assert table(made, "code")["categories"] == ["01", "1", "02", "2"]
    assert made.dataset.X[:4, 3].tolist() == [0, 1, 2, 3]


def test_numbers_are_one_category_however_they_are_spelled(tmp_path: Path) -> None:
    made = annotated(tmp_path, {**loans(), "code": ["100000", "1e5", "2", "2.00"] * 10}, label="repaid")
    assert table(made, "code")["categories"] == ["2", "100000"]
    assert made.dataset.X[:4, 3].tolist() == [1, 1, 0, 0]
    assert [row[-1] for row in made.table.rows[:4]] == ["100000", "100000", "2", "2"]


def gappy() -> dict[str, Sequence[object]]:
    """Return 40 rows: gaps of the income in rows 1 and 3, of the job in rows 3 and 6, of the label in row 8."""
    gaps = {("income", 0): "NA", ("income", 2): "", ("job", 2): "", ("job", 5): "", ("repaid", 7): "?"}
    return {name: [gaps.get((name, row), cell) for row, cell in enumerate(cells)] for name, cells in loans().items()}


def test_gaps_are_counted_with_three_ways_out(tmp_path: Path) -> None:
    with pytest.raises(TableError) as caught:
        annotated(tmp_path, gappy(), on_command_line=True)
    message = str(caught.value)
    assert "4 rows of 40 have gaps (income 2, job 2, repaid 1). Cells read as gaps: '', '?', 'NA'." in message
    assert "leave these rows out (--drop-missing; 36 rows stay)" in message
    assert "a category of their own (--missing-as unknown; for job)" in message
    assert "fill them by a rule of your own and begin again" in message
    assert caught.value.drop_missing


def test_rows_with_gaps_are_dropped(tmp_path: Path) -> None:
    made = annotated(tmp_path, gappy(), drop_missing=True)
    assert made.dataset.n == 36
    assert made.table.rows[0] == ["31", "1012.25", "none", "yes"]
    assert "4 rows with gaps are left out (income 2, job 2, repaid 1)" in made.notes


def test_gaps_of_categories_become_a_category_and_other_rows_are_dropped(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"3 rows of 40 have gaps \(income 2, repaid 1\)"):
        annotated(tmp_path, gappy(), missing_as="unknown")
    made = annotated(tmp_path, gappy(), missing_as="unknown", drop_missing=True)
    assert made.dataset.n == 37
    assert table(made, "job")["categories"][-1] == "unknown"
    assert made.dataset.space.features[2].categories == ("clerk", "cook", "none", "unknown")
    assert int((made.dataset.X[:, 2] == 3).sum()) == 1


def test_a_column_of_gaps_is_proposed_to_be_ignored(tmp_path: Path) -> None:
    columns = {**loans(), "rare": [*["x", "y"] * 5, *[""] * 30], "measured": [*AGES, *[""] * 35]}
    with pytest.raises(TableError) as caught:
        annotated(tmp_path, columns, label="repaid")
    assert "column 'rare': 30 of 40 cells are gaps. Fill them, or ignore the column" in str(caught.value)
    assert "column 'measured': 35 of 40 cells are gaps" in str(caught.value)
    assert (caught.value.ignore, caught.value.drop_missing) == (("rare", "measured"), False)
    with pytest.raises(TableError, match="column 'measured'") as caught:
        annotated(tmp_path, columns, label="repaid", missing_as="unknown")
    assert caught.value.ignore == ("measured",)
    assert annotated(tmp_path, columns, label="repaid", missing_as="unknown", ignore=("measured",)).dataset.n == 40


def test_rows_that_all_have_gaps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        TableError, match=r"with its 20 rows without gaps: column 'repaid': the label has 1 class; allow"
    ):
        annotated(tmp_path, {**loans(), "a": ["", "1.5"] * 20}, label="repaid", drop_missing=True)
    columns = {**loans(), "a": ["", "1.5"] * 20, "b": ["2.5", ""] * 20}
    with pytest.raises(TableError, match=r"every row has a gap \(a 20, b 20\); ignore the columns"):
        annotated(tmp_path, columns, label="repaid", drop_missing=True)


def test_codes_stay_categories_when_rows_are_dropped(tmp_path: Path) -> None:
    columns = gappy() | {"code": ["", *["1", "2", "3"] * 13]}  # 39 rows of three codes, fewer than 30 of which stay
    columns["income"] = ["" if row > 20 else cell for row, cell in enumerate(columns["income"])]
    made = annotated(tmp_path, columns, label="repaid", missing_as="unknown", drop_missing=True)
    assert made.dataset.n == 18  # rows 2, 4 to 7 and 9 to 21
    assert table(made, "code")["categories"] == ["1", "2", "3"]


def test_gaps_of_ignored_columns_cost_no_row(tmp_path: Path) -> None:
    columns = {**loans(), "remark": ["", *["x"] * 39], "id": ["", *map(str, range(39))], "nothing": [""] * 40}
    made = annotated(tmp_path, columns, label="repaid", ignore=("remark",))
    assert made.dataset.n == 40
    assert tomllib.loads(made.annotation)["ignore"] == ["remark", "id", "nothing"]


def test_all_problems_are_listed_at_once_with_what_may_be_left_out(tmp_path: Path) -> None:
    dates = [f"2021-03-{1 + row % 28:02}" for row in range(40)]
    names = [f"Ms. {chr(65 + row % 26)}{chr(97 + row)}" for row in range(40)]
    with pytest.raises(TableError) as caught:
        annotated(tmp_path, {"applied": dates, "name": names, **gappy()})
    assert "3 problems" in str(caught.value)
    assert caught.value.ignore == ("applied", "name")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("income", "has 40 different numbers; it needs a few classes. Make a column of them, such as whether income"),
        ("name", "the label has 40 classes; allowed: 2 to 20"),
        ("rare", "'b' (4 rows); add rows, or merge these classes with others"),
        ("branch", "the label has 1 class"),
    ],
)  # fmt: skip
def test_labels_that_are_no_classes_are_refused(tmp_path: Path, label: str, words: str) -> None:
    columns = {
        **loans(),
        "name": [f"n{row}" for row in range(40)],
        "rare": ["a"] * 36 + ["b"] * 4,
        "branch": ["x"] * 40,
    }
    with pytest.raises(TableError) as caught:
        annotated(tmp_path, columns, label=label)
    assert f"column {label!r}: " in str(caught.value)
    assert words in str(caught.value)


def test_names_that_the_table_does_not_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'repaid'"):
        annotated(tmp_path, loans(), label="repayed")
    with pytest.raises(UnknownNameError, match="unknown column 'ages'"):
        annotated(tmp_path, loans(), ignore=("ages",))
    with pytest.raises(CfbenchError, match="unknown target class 'yess'"):
        annotated(tmp_path, loans(), label="repaid", target="yess")
    with pytest.raises(DataError, match="needs the column of the classes"):
        annotated(tmp_path, loans(), target="yes")
    with pytest.raises(DataError, match="is the label column; it cannot be ignored"):
        annotated(tmp_path, loans(), label="repaid", ignore=("repaid",))
    with pytest.raises(DataError, match="the kind of column 'age' is 'number'"):
        annotated(tmp_path, loans(), kinds={"age": "number"})


@pytest.mark.parametrize(
    ("name", "values", "chosen"),
    [
        ("class", ["a", "b"], "class"),
        ("default", ["0", "1"], "default"),
        ("much", [f"{row}.5" for row in range(40)], "repaid"),
    ],
)
def test_without_a_label_the_likeliest_column_is_taken(
    tmp_path: Path, name: str, values: list[str], chosen: str
) -> None:
    columns = {name: [values[row % len(values)] for row in range(40)], **loans()}
    if name == "default":
        columns = {**loans(), name: columns[name]}  # the last column
    assert tomllib.loads(annotated(tmp_path, columns).annotation)["label"]["column"] == chosen


def test_odd_names_and_categories_are_written_so_that_they_are_read(tmp_path: Path) -> None:
    odd = ['a "b"', "c\\d", "e\x7ff", "g#h"]
    frame = pd.DataFrame(loans()).astype({"age": float, "income": float})
    frame['x "y" #z'] = [odd[row % 4] for row in range(40)]
    made = cfbench.annotate(frame, label="repaid")
    assert made.dataset.space.features[3].name == 'x "y" #z'
    assert set(made.dataset.space.features[3].categories) >= {'a "b"', "c\\d", "g#h"}
    assert load_folder(made.save(tmp_path / "odd"), "odd").digest == made.dataset.digest


def test_a_frame_gives_what_a_file_gives(tmp_path: Path) -> None:
    made = annotated(tmp_path, gappy(), label="repaid", target="yes", drop_missing=True)
    frame = pd.DataFrame(gappy())
    same = cfbench.annotate(frame, label="repaid", target="yes", drop_missing=True, name="loans")
    assert same.annotation.splitlines()[1:] == made.annotation.splitlines()[1:]
    assert same.table.rows == made.table.rows
    assert same.notes[0] == "a data frame: 40 rows, 4 columns"
    assert made.notes[0] == "loans.csv: separated by commas, in utf-8; 40 rows, 4 columns"
    assert same.notes[1:] == made.notes[1:]
    assert same.dataset.digest == made.dataset.digest
    read = pd.read_csv(tmp_path / "loans.csv", na_values=["?"])
    assert cfbench.annotate(read, label="repaid", target="yes", drop_missing=True).dataset.digest == made.dataset.digest


def test_a_frame_of_many_types() -> None:
    rows = 60
    frame = pd.DataFrame(
        {
            "flag": [True, False] * 30,
            "size": np.arange(rows, dtype=np.float64) % 7 * 0.5,
            "count": pd.array([row % 20 for row in range(rows)], dtype="Int64"),
            "mixed": [[1, "a", 2.5][row % 3] for row in range(rows)],
            "grade": pd.Categorical(["low", "high", "low"] * 20),
            "when": pd.date_range("2021-01-01", periods=rows),
            3: [row % 2 for row in range(rows)],
        }
    )
    with pytest.raises(TableError, match="column 'when': it holds dates"):
        cfbench.annotate(frame, label="flag", target=True)
    made = cfbench.annotate(frame, label="flag", target=True, ignore=["when"])
    assert made.dataset.class_labels == ("False", "True")
    assert made.dataset.target == 1
    kinds = {
        feature.name: feature.categories or (feature.lower, feature.upper) for feature in made.dataset.space.features
    }
    assert kinds == {
        "size": (0, 3),
        "count": (0, 19),
        "mixed": ("1", "2.5", "a"),
        "grade": ("low", "high"),
        "3": ("0", "1"),
    }
    assert cfbench.annotate(frame, label="3", target=1.0, ignore=["when"]).dataset.target == 1


def test_an_empty_frame_is_refused() -> None:
    with pytest.raises(DataError, match="0 rows and 0 columns"):
        cfbench.annotate(pd.DataFrame(), label="x")


def test_a_table_that_says_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="has no column for a feature: 'id'"):
        annotated(tmp_path, {"id": [str(row) for row in range(20)], "y": ["a", "b"] * 10})
    with pytest.raises(TableError, match=r"no column can be the class.* name it: label='COLUMN'"):
        annotated(tmp_path, {"a": [f"{row}.5" for row in range(20)], "b": [f"{row}.25" for row in range(20)]})


@pytest.mark.slow
def test_cfbench_run_takes_an_annotated_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotate_module, "cache_folder", lambda name: tmp_path / name)
    draws = np.random.default_rng(0)
    frame = pd.DataFrame({"age": draws.integers(18, 80, 200), "job": ["none", "clerk"] * 100})
    frame["repaid"] = (frame["age"] > 45) & (frame["job"] == "clerk")
    made = cfbench.annotate(frame, label="repaid", target=True, name="My loans")
    study = {
        "models": ["logistic-regression[C=1]"],
        "searchers": ["nearest-unlike"],
        "folds": [0],
    }
    options: dict[str, Any] = {"points": 3, "repetitions": 1, "tracking": "none", "results": tmp_path / "results"}
    result = cfbench.run({**study, "datasets": [made]}, **options)
    assert result.report.searches_run == 3
    assert set(result.searches()["dataset"]) == {"my-loans"}
    again = cfbench.run(study | {"datasets": ["wine"]}, **options, datasets=made)
    assert again.report.searches_run == 0  # the same folder, so the same cells
    assert len(list((tmp_path / "tables").iterdir())) == 1
