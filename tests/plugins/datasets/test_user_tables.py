"""Tables that users bring: found in their folders, compared with what is expected, never downloaded."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cfbench import DataSource, Kind
from cfbench.errors import DataError, UnavailableError
from cfbench.registry.registry import build_registry
from cfbench.study.sources import may_be_passed_on
from cfbench.tables import FILE_NAME, read_annotation
from cfbench_datasets import plugin
from cfbench_datasets.user_tables import USER_TABLES

ENTRIES = {entry.name: entry for entry in plugin.cfbench_register_datasets([])}
ROWS = 12
FEATURES = {
    "heloc": 23,
    "give-me-some-credit": 10,
    "law-school": 6,
    "lending-club": 13,
    "bank-marketing": 19,
    "credit-card-default": 23,
}
Write = Callable[..., DataSource]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Return what writes a made-up table of a data set, in the form of its source, where 12 rows are expected."""

    def written(name: str, *, rows: int = ROWS, leave_out: str = "", gap_in: str = "") -> DataSource:
        wanted = USER_TABLES[name]
        monkeypatch.setitem(USER_TABLES, name, replace(wanted, rows=ROWS))
        annotation = read_annotation(Path(plugin.__file__).parent / name / FILE_NAME)
        values = dict(zip(annotation.space.names, annotation.values, strict=True))
        specs = {spec.name: spec for spec in annotation.space.features}
        lines = []
        for number in range(rows):
            cells = {}
            for column in wanted.columns:
                if column == annotation.label_column:
                    cells[column] = annotation.classes[number % 2]
                elif column in annotation.ignore:
                    cells[column] = str(number)
                elif specs[column].kind is Kind.CATEGORICAL:
                    cells[column] = values[column][number % len(values[column])]
                else:
                    cells[column] = str(specs[column].upper if number % 3 else specs[column].lower)
            if gap_in and number == 1:
                cells[gap_in] = wanted.gap
            lines.append([cell for column, cell in cells.items() if column != leave_out])
        header = ["" if column == "row" else column for column in wanted.columns if column != leave_out]
        with (tmp_path / wanted.file).open("w", newline="") as file:
            csv.writer(file, delimiter=wanted.delimiter).writerows([header, *lines])
        return DataSource((tmp_path,), tmp_path / "cache", download=True)

    return written


@pytest.mark.parametrize("name", USER_TABLES)
def test_a_users_table_is_read_in_the_form_of_its_source(name: str, write: Write) -> None:
    dataset = ENTRIES[name].load(write(name))
    assert (dataset.n, dataset.class_counts) == (ROWS, (6, 6))
    assert dataset.space.d == FEATURES[name]


@pytest.mark.parametrize("name", USER_TABLES)
def test_without_the_file_it_is_unavailable_with_what_to_do(name: str, tmp_path: Path) -> None:
    wanted = USER_TABLES[name]
    with pytest.raises(UnavailableError) as caught:
        ENTRIES[name].load(DataSource((tmp_path,), tmp_path / "cache", download=True))
    for part in (wanted.file, f"{len(wanted.columns)} columns, {wanted.rows:,} rows", "--data-dir", wanted.source):
        assert part in str(caught.value)
    assert not list(tmp_path.iterdir())  # nothing was downloaded
    assert not may_be_passed_on(name, build_registry())


def test_rows_with_a_gap_are_dropped(write: Write) -> None:
    dataset = ENTRIES["give-me-some-credit"].load(write("give-me-some-credit", gap_in="MonthlyIncome"))
    assert dataset.n == ROWS - 1


def test_another_table_is_refused(write: Write) -> None:
    with pytest.raises(DataError, match=r"header is another one \(missing: LSAT; not expected: none\)"):
        ENTRIES["law-school"].load(write("law-school", leave_out="LSAT"))
    with pytest.raises(DataError, match=r"it has 11 rows, expected 12\. The table comes from the UCI repository"):
        ENTRIES["bank-marketing"].load(write("bank-marketing", rows=11))
