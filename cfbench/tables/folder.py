"""From a folder with annotations.toml and data.csv to a data set: cells as numbers, category codes and classes."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from cfbench.errors import DataError, UnknownNameError
from cfbench.space.dataset import Dataset, Spelling
from cfbench.space.feature import FeatureSpec, Kind
from cfbench.space.space import FloatArray, IntArray, are_multiples
from cfbench.tables.annotation import FILE_NAME, Annotation, annotation_but_for_relations, refuse, refuse_device
from cfbench.text import exact


@dataclass(frozen=True)
class TextTable:
    """Cells as text, without blanks around them.

    Parameters
    ----------
    origin : str
        The source, for messages.
    header : tuple of str
    rows : list of list of str
        Rows, each as long as the header.
    lines : tuple of int
        The line of the file on which each row ends; empty if there is no file.
    """

    origin: str
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: tuple[int, ...] = ()

    def column(self, name: str) -> list[str]:
        """Return the cells of a column."""
        place = self.header.index(name)
        return [row[place] for row in self.rows]


def read_csv(path: Path, *, delimiter: str = ",", unnamed: str = "") -> TextTable:
    """Read separated text whose first line names the columns; a file whose name ends with .gz is decompressed.

    Parameters
    ----------
    path : Path
    delimiter : str
        What separates the cells.
    unnamed : str
        The name of a column without one; by default such a table is refused.

    Raises
    ------
    DataError
        Where it is missing, empty, unreadable, has a ragged row, or has a column without a name of its own.
    """
    refuse_device(path)
    try:
        with _opened(path) as file:
            lines = read_lines(str(path), file, delimiter)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; the data set's table must be there") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}. It must be comma-separated text in UTF-8") from error
    return text_table(str(path), [name or unnamed for name in lines[0][1]], lines[1:])


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


Line = tuple[int, list[str]]
"""The line of a file on which a row ends, and the row's cells."""


def read_lines(origin: str, text: Iterable[str], delimiter: str) -> list[Line]:
    """Return the rows of separated text, without blanks around cells and without blank lines.

    Raises DataError if a quote is left open, or if there is no row.
    """
    lines: list[Line] = []
    reader = csv.reader(text, delimiter=delimiter, strict=True)
    try:
        lines.extend((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    except csv.Error as error:
        begins = lines[-1][0] + 1 if lines else 1
        raise DataError(
            f"{origin} cannot be read from line {begins} on, where a row begins: {error}. A cell that begins with a "
            "double quote needs one at its end, and a quote inside of it is written twice"
        ) from None
    filled = [(line, row) for line, row in lines if row not in ([], [""])]
    if not filled:
        raise DataError(f"{origin} is empty; it needs a line with the columns' names and a line for every case")
    return filled


def text_table(origin: str, header: Sequence[str], body: Sequence[Line]) -> TextTable:
    """Return the table of a header and the rows below it.

    Raises DataError if a column has no name of its own, a row is ragged, or there is no row.
    """
    problems = _header_problems(header)
    problems += [
        f"line {line} has {len(row)} cells, the header has {len(header)}; every row needs one cell per column "
        "(a delimiter inside a cell needs double quotes around the cell)"
        for line, row in body
        if len(row) != len(header)
    ]
    if not body:
        problems.append("it has a header and no row; add a line for every case")
    if problems:
        raise refuse(origin, problems)
    return TextTable(origin, tuple(header), [row for _, row in body], tuple(line for line, _ in body))


def _header_problems(header: Sequence[str]) -> list[str]:
    for separator in ";\t|":
        if len(header) == 1 and separator in header[0]:
            return [
                f"its columns seem to be separated by {separator!r}; write it with commas, as "
                "`cfbench datasets annotate` does"
            ]
    problems = [
        f"column {place + 1} has no name; name it, or leave it out (pandas writes its index so: "
        "use to_csv(..., index=False))"
        for place, name in enumerate(header)
        if not name
    ]
    problems += [
        f"column {name!r} occurs {header.count(name)} times; every column needs a name of its own"
        for name in dict.fromkeys(header)
        if name and header.count(name) > 1
    ]
    return problems


FEWEST_ROWS_A_CLASS = 5
"""Every class needs a row in each of the five folds that the models are trained and tested on."""


def encode(table: TextTable, annotation: Annotation) -> tuple[FloatArray, IntArray]:
    """Turn cells into the feature matrix and the class codes.

    Returns
    -------
    X : ndarray of float64, shape (n, d)
    y : ndarray of int64, shape (n,)

    Raises
    ------
    DataError
        With every problem of the table, equal ones of a column together.
    """
    problems = _column_problems(table, annotation)
    X = np.full((len(table.rows), annotation.space.d), np.nan)
    labels = np.full(len(table.rows), np.nan)
    for i, (spec, values) in enumerate(zip(annotation.space.features, annotation.values, strict=True)):
        if spec.name in table.header:
            column = _Column(table, spec.name)
            numerical = spec.kind is Kind.NUMERICAL
            X[:, i] = _numbers(column, spec) if numerical else _codes(column, values, "category")
            problems += column.problems()
    if annotation.label_column in table.header:
        column = _Column(table, annotation.label_column)
        labels[:] = _codes(column, annotation.classes, "class")
        problems += column.problems() or _class_problems(labels.astype(np.int64), annotation)
    if problems:
        raise refuse(table.origin, problems)
    return X, labels.astype(np.int64)


class _Column:
    """A column's cells and the problems of them, equal ones together."""

    def __init__(self, table: TextTable, name: str) -> None:
        self.name = name
        self.cells = table.column(name)
        self.lines = table.lines
        self.complaints: dict[str, list[int]] = {}

    def complain(self, row: int, what: str) -> float:
        self.complaints.setdefault(what, []).append(row)
        return math.nan

    def problems(self) -> list[str]:
        return [self._problem(what, rows) for what, rows in self.complaints.items()]

    def _problem(self, what: str, rows: list[int]) -> str:
        first = rows[0]
        line = f" (line {self.lines[first]})" if self.lines else ""
        more = f" [{len(rows)} such cells, rows {', '.join(str(row + 1) for row in rows[:5])}" if rows[1:] else ""
        more += ", ...]" if rows[5:] else "]" if more else ""
        return f"column {self.name!r}, row {first + 1}{line}: {self.cells[first]!r} {what}{more}"


def _column_problems(table: TextTable, annotation: Annotation) -> list[str]:
    wanted = [*annotation.space.names, annotation.label_column]
    free = [name for name in table.header if name not in (*wanted, *annotation.ignore)]
    problems = []
    for name in [*wanted, *annotation.ignore]:
        if name not in table.header:
            role = {annotation.label_column: "label column"}.get(
                name, "feature" if name in wanted else "ignored column"
            )
            problems.append(
                f"the {role} {name!r} of {FILE_NAME} has no column in the table; add the column or correct the name. "
                f"{UnknownNameError('column', name, free or table.header)}"
            )
    problems += [
        f"column {name!r} is not annotated; add a [[features]] table for it to {FILE_NAME}, or name it there in "
        f"'ignore = [...]' so that it is left out"
        for name in free
    ]
    return problems


def _numbers(column: _Column, spec: FeatureSpec) -> FloatArray:
    values = _sound_numbers(column.cells, spec)
    if values is None:  # the slower way has a message for each cell
        interval = f"[{exact(spec.lower)}, {exact(spec.upper)}]"
        values = np.array([_number(column, row, cell, spec, interval) for row, cell in enumerate(column.cells)])
    return values


def _sound_numbers(cells: Sequence[str], spec: FeatureSpec) -> FloatArray | None:
    """Return the numbers of a column, all at once; None if one of them is not allowed."""
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        return None
    allowed = (values >= spec.lower) & (values <= spec.upper)  # False for NaN
    if spec.step:
        allowed &= are_multiples(values, spec.step)
    return values if allowed.all() and not any("_" in cell for cell in cells) else None


def _number(column: _Column, row: int, cell: str, spec: FeatureSpec, interval: str) -> float:
    if not cell:
        return column.complain(row, f"is missing; allowed: a number in {interval}; fill it in or drop the row")
    try:
        # Python reads 1_000 as a number; in a table it is a slip.
        value = float(cell.replace("_", "?"))
    except ValueError:
        return column.complain(row, f"is no number; allowed: a number in {interval}; correct the cell or drop the row")
    if not math.isfinite(value):
        return column.complain(row, f"is not finite; allowed: a number in {interval}; correct it or drop the row")
    if not spec.lower <= value <= spec.upper:
        return column.complain(
            row, f"is outside the interval {interval}; correct the cell or widen the interval in {FILE_NAME}"
        )
    if spec.step and not are_multiples(np.array([value]), spec.step)[0]:
        return column.complain(
            row, f"is no multiple of the step {exact(spec.step)}; correct the cell or the step in {FILE_NAME}"
        )
    return value


def _codes(column: _Column, values: tuple[str, ...], kind: str) -> list[float]:
    code_of: dict[str, float] = {value: code for code, value in enumerate(values)}
    allowed = ", ".join(repr(value) for value in values[:12]) + (", ..." if values[12:] else "")
    codes = []
    for row, cell in enumerate(column.cells):
        code = code_of.get(cell, code_of.get(_as_integer(cell)))
        if code is None:
            what = "is missing" if not cell else f"is no annotated {kind}"
            code = column.complain(
                row, f"{what}; allowed: {allowed}; correct the cell or add the {kind} to {FILE_NAME}"
            )
        codes.append(code)
    return codes


def _as_integer(cell: str) -> str:
    """Return 3.0 as 3: pandas writes integers in this way if the column had a gap."""
    whole, _, rest = cell.partition(".")
    return whole if rest and not rest.strip("0") else cell


def _class_problems(y: IntArray, annotation: Annotation) -> list[str]:
    counts = np.bincount(y, minlength=len(annotation.classes))
    present = np.flatnonzero(counts)
    where = f"label column {annotation.label_column!r}"
    if len(present) == 1:
        only = annotation.classes[present[0]]
        return [f"{where}: all {len(y)} rows have the class {only!r}; a classifier needs rows of two classes at least"]
    return [
        f"{where}: class {value!r} has {count} rows; allowed: {FEWEST_ROWS_A_CLASS} or more, one for each fold; "
        f"add rows or merge the class with another"
        for value, count in zip(annotation.classes, counts, strict=True)
        if count < FEWEST_ROWS_A_CLASS
    ]


TABLE_NAME = "data.csv"


def table_of(folder: Path) -> Path:
    """Return the path of a folder's table: data.csv, or data.csv.gz if there is no data.csv."""
    compressed = folder / f"{TABLE_NAME}.gz"
    return compressed if compressed.exists() and not (folder / TABLE_NAME).exists() else folder / TABLE_NAME


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
    complaints: list[str] = []
    annotation = dataset = None
    try:
        annotation, problems = annotation_but_for_relations(folder / FILE_NAME)
        complaints += [str(refuse(str(folder / FILE_NAME), problems))] if problems else []
    except DataError as error:
        complaints.append(str(error))
    try:
        table = read_csv(table_of(folder))
        dataset = make_dataset(name, annotation, table) if annotation is not None else None
    except DataError as error:
        complaints.append(str(error))
    if complaints:
        raise DataError("\n".join(complaints))
    assert dataset is not None
    return dataset


def make_dataset(name: str, annotation: Annotation, table: TextTable) -> Dataset:
    """Return the data set of an annotation and a table from any source."""
    X, y = encode(table, annotation)
    return Dataset(
        name=name,
        X=X,
        y=y,
        space=annotation.space,
        target=annotation.target,
        class_labels=annotation.meanings,
        user=annotation.user,
        spelling=Spelling(annotation.values, annotation.classes, annotation.label_column),
    )


def read_card(folder: Path) -> str:
    """Return the text of the folder's CARD.md, or nothing if there is none.

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
