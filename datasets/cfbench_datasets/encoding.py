"""Turning a table's cells into numbers, category codes and classes, as its annotation says.

Cells are parsed one by one: Python's ``float`` gives the nearest double (what is written with 17 digits comes back bit
for bit), and every complaint can name its row.
"""

from __future__ import annotations

import math

import numpy as np

from cfbench import FeatureSpec, FloatArray, IntArray, Kind, UnknownNameError
from cfbench_datasets.annotation import FILE_NAME, Annotation
from cfbench_datasets.problems import refuse
from cfbench_datasets.table import Table

FEWEST_ROWS_A_CLASS = 5
"""Every class needs a row in each of the five folds that the models are trained and tested on."""


def encode(table: Table, annotation: Annotation) -> tuple[FloatArray, IntArray]:
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
            X[:, i] = _numbers(column, spec) if spec.kind is Kind.NUMERICAL else _codes(column, values, "category")
            problems += column.problems()
    if annotation.label_column in table.header:
        column = _Column(table, annotation.label_column)
        labels[:] = _codes(column, annotation.classes, "class")
        problems += column.problems() or _class_problems(labels.astype(np.int64), annotation)
    if problems:
        raise refuse(table.origin, problems)
    return X, labels.astype(np.int64)


class _Column:
    """A column's cells and the complaints about them, equal ones gathered."""

    def __init__(self, table: Table, name: str) -> None:
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


def _column_problems(table: Table, annotation: Annotation) -> list[str]:
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


def _numbers(column: _Column, spec: FeatureSpec) -> list[float]:
    interval = f"[{spec.lower:g}, {spec.upper:g}]"
    return [_number(column, row, cell, spec, interval) for row, cell in enumerate(column.cells)]


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
    # Decimal steps such as 0.1 have no exact double: a multiple is recognised up to rounding.
    if spec.step and not math.isclose(value / spec.step, round(value / spec.step), rel_tol=1e-9, abs_tol=1e-9):
        return column.complain(
            row, f"is no multiple of the step {spec.step:g}; correct the cell or the step in {FILE_NAME}"
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
    """Spell 3.0 as 3: so pandas writes a column of integers that once had a gap."""
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
