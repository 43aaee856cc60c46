"""Results that were made elsewhere, as a table: read from a file or from two data frames, and written as a template.

A table is wide (one line per search, columns ``factual.NAME`` and ``counterfactual.NAME``) or long (lines of the role
factual or counterfactual, columns ``NAME``). What makes a line unreadable as a search is an error that names file, line
and column. What makes a counterfactual wrong is kept with it: such a search is invalid.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cfbench.errors import DataError, UnknownNameError
from cfbench.space.feature import FeatureSpec, Kind
from cfbench.space.space import FeatureSpace, FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

FACTUAL, COUNTERFACTUAL = "factual", "counterfactual"
ROW, CASE, ROLE = "row", "case", "role"
NUMBERS = (ROW, "repetition", "seconds", "queries")
"""Columns of a search that may be absent."""
MISSING = frozenset({"", "na", "nan", "none", "null"})
"""How programs write a missing value, in lower case."""
SHOWN = 10
"""Most problems of a table that are listed; more are counted."""

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")


@dataclass(frozen=True)
class GivenResult:
    """One search that was made elsewhere.

    Parameters
    ----------
    place : str
        Where it stands, for messages.
    row : int or None
        The row of the data set; None if the table does not say.
    repetition : int
    x : ndarray of float64, shape (d,)
        The factual, in the data set's coordinates; NaN where the table has no readable value.
    z : ndarray of float64, shape (d,), or None
        The counterfactual; None if there is none.
    objection : str
        Why the counterfactual cannot be read; empty if it can.
    unread : str
        Why the factual cannot be read; empty if it can.
    seconds, queries : float and int, or None
        What the search took; None if unknown.
    """

    place: str
    row: int | None
    repetition: int
    x: FloatArray
    z: FloatArray | None
    objection: str = ""
    unread: str = ""
    seconds: float | None = None
    queries: int | None = None


@dataclass(frozen=True)
class _Table:
    """Cells as text; `places` say where each row stands."""

    origin: str
    header: list[str]
    rows: list[list[str]]
    places: list[str]
    may_have_decimal_commas: bool = False


@dataclass
class _Line:
    """The cells of one row by the names of their columns."""

    place: str
    cells: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def number(self, name: str, *, whole: bool) -> float | None:
        """Return a number from 0, None if it is missing or there is no such column; note what is not a number."""
        text = self.cells.get(name, "")
        if text.casefold() in MISSING:
            return None
        value = _number(text)
        if value is None or not 0 <= value < 2**53 or (whole and value != int(value)):
            what = "a whole number from 0" if whole else "a number from 0"
            self.problems.append(f"{self.place}, column {name!r}: {text!r} is not {what}; correct it or leave it empty")
            return None
        return value


def read_results(path: Path, space: FeatureSpace) -> list[GivenResult]:
    """Read the searches in a file; raise DataError, with all problems, if it is not a table of them."""
    return _results_of(_read(path), space)


def results_of_frames(factuals: pd.DataFrame, counterfactuals: pd.DataFrame, space: FeatureSpace) -> list[GivenResult]:
    """Return the searches in two data frames with the same index; raise DataError as `read_results`."""
    if not factuals.index.equals(counterfactuals.index):
        raise DataError(
            f"the factuals have {len(factuals):,} rows and the counterfactuals {len(counterfactuals):,}, and their "
            "indexes differ; give two frames with the same index, one row per search"
        )
    header, columns = [], []
    for frame, role in ((factuals, FACTUAL), (counterfactuals, COUNTERFACTUAL)):
        for name in frame.columns:
            header.append(str(name) if name in NUMBERS else f"{role}.{name}")
            columns.append(frame[name].astype(object).where(frame[name].notna(), "").map(str).tolist())
    rows = [list(row) for row in zip(*columns, strict=True)]
    places = [f"row {label!r}" for label in factuals.index.tolist()]
    return _results_of(_Table("the frames", header, rows, places), space)


def template(space: FeatureSpace, X: FloatArray, row_ids: Sequence[int] | IntArray, *, long: bool) -> str:
    """Return a table with the factuals of some rows of a data set, and empty cells for what was found for them."""
    rows = [(str(row), as_texts(X[row], space)) for row in row_ids]
    empty = [""] * space.d
    if long:
        lines = [[ROW, ROLE, *space.names, "seconds", "queries"]]
        for row, values in rows:
            lines.append([row, FACTUAL, *values, "", ""])
            lines.append([row, COUNTERFACTUAL, *empty, "", ""])
    else:
        names = [f"{role}.{name}" for role in (FACTUAL, COUNTERFACTUAL) for name in space.names]
        lines = [[ROW, *names, "seconds", "queries"]]
        lines += [[row, *values, *empty, "", ""] for row, values in rows]
    return as_csv(lines)


def as_csv(lines: Iterable[Sequence[str]]) -> str:
    """Return lines of cells as comma-separated text."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def as_texts(x: FloatArray, space: FeatureSpace) -> list[str]:
    """Return a row as tables hold it: numbers in raw units, categories by their labels."""
    return [
        feature.categories[int(value)]
        if feature.kind is Kind.CATEGORICAL
        else repr(int(value) if value.is_integer() else value)
        for feature, value in zip(space.features, x.tolist(), strict=True)
    ]


# ---------------------------------------------------------------- from a file to cells


def _read(path: Path) -> _Table:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} cannot be read: byte {error.start} is not UTF-8 text; save it as UTF-8 (in R: "
            'write.csv(..., fileEncoding = "UTF-8"))'
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    first = re.sub(r'"[^"]*"', "", next(iter(text.splitlines()), ""))
    separator = max(",;\t", key=first.count)
    lines: list[tuple[int, list[str]]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        lines.extend((reader.line_num, [cell.strip() for cell in row]) for row in reader)
    except csv.Error as error:
        begins = lines[-1][0] + 1 if lines else 1
        raise DataError(f"{path} cannot be read from line {begins} on: {error}") from None
    filled = [(line, row) for line, row in lines if any(row)]
    if len(filled) < 2:
        raise DataError(f"{path} has no results: it needs a line with the columns' names, and a line for every search")
    header, body = filled[0][1], filled[1:]
    if all(len(row) == len(header) + 1 for _, row in body):
        header = ["", *header]  # R's write.table gives its row names no column name
    problems = [
        f"line {line} has {len(row)} cells, and the header has {len(header)}; a {separator!r} inside a cell needs "
        "double quotes around the cell"
        for line, row in body
        if len(row) != len(header)
    ]
    if problems:
        raise refusal(str(path), problems)
    skipped = 0 if header[0] else 1  # row names, as R and pandas write them
    rows, places = [row[skipped:] for _, row in body], [f"line {line}" for line, _ in body]
    return _Table(str(path), header[skipped:], rows, places, may_have_decimal_commas=separator != ",")


def refusal(origin: str, problems: Sequence[str]) -> DataError:
    """Return the error that lists what is wrong with results."""
    more = f"\n- and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
    listed = "".join(f"\n- {problem}" for problem in problems[:SHOWN])
    return DataError(f"{origin} cannot be judged:{listed}{more}")


# ---------------------------------------------------------------- from cells to searches


def _results_of(table: _Table, space: FeatureSpace) -> list[GivenResult]:
    if not table.rows:
        raise DataError(f"{table.origin} have no rows: there is nothing to judge")
    prefixes = tuple(f"{role}." for role in (FACTUAL, COUNTERFACTUAL))
    is_long = ROLE in table.header
    split = [name for name in table.header if name.startswith(prefixes) and name not in space.names]
    if is_long and split:
        raise DataError(
            f"{table.origin} mixes two formats: column {ROLE!r} belongs to the long one, and column {split[0]!r} to "
            "the wide one; use one of them (`cfbench judge --example` writes a template)"
        )
    wanted = list(space.names) if is_long else [f"{prefix}{name}" for prefix in prefixes for name in space.names]
    header = _header(table, wanted, (ROLE, CASE) if is_long else ())
    names = dict(zip(wanted, space.features * (1 if is_long else 2), strict=True))
    numerical = [name not in names or names[name].kind is Kind.NUMERICAL for name in header]
    lines = []
    for place, row in zip(table.places, table.rows, strict=True):
        if table.may_have_decimal_commas:
            row = [_with_point(cell) if may else cell for cell, may in zip(row, numerical, strict=True)]  # noqa: PLW2901
        lines.append(_Line(place, dict(zip(header, row, strict=True))))
    results = list(_of_long(lines, space) if is_long else _of_wide(lines, space))
    problems = [problem for line in lines for problem in line.problems]
    if problems:
        raise refusal(table.origin, problems)
    return results


def _header(table: _Table, features: Sequence[str], more: Sequence[str]) -> list[str]:
    """Return the columns' names as cfbench writes them; raise DataError if one is missing, unknown or there twice."""
    known = [*features, *NUMBERS, *more]
    written = {_as_in_r(name): name for name in reversed(known)} | {name: name for name in known}
    header = [written.get(name, name) for name in table.header]
    problems = [
        f"column {name!r} is unknown. {UnknownNameError('column', name, known)}" for name in header if name not in known
    ]
    problems += [f"column {name!r} is there {header.count(name)} times" for name in known if header.count(name) > 1]
    problems += [f"column {name!r} is missing" for name in features if name not in header]
    if ROLE in more and not {ROW, CASE} & {*header}:
        problems.append(
            f"a column {ROW!r} (the row of the data set, from 0) or {CASE!r} (any name) is missing, which says which "
            "counterfactual belongs to which factual"
        )
    if problems:
        raise refusal(table.origin, problems)
    return header


def _as_in_r(name: str) -> str:
    """Return a column's name as R's data frames change it.

    Examples
    --------
    >>> _as_in_r("hours per week"), _as_in_r("2nd income")
    ('hours.per.week', 'X2nd.income')
    """
    changed = re.sub(r"[^\w.]", ".", name)
    return changed if re.match(r"[^\W\d_]|\.(?!\d)", changed) else f"X{changed}"


def _of_wide(lines: Iterable[_Line], space: FeatureSpace) -> Iterator[GivenResult]:
    for line in lines:
        x, z = ([line.cells[f"{role}.{name}"] for name in space.names] for role in (FACTUAL, COUNTERFACTUAL))
        yield _result(line, x, z, space)


def _of_long(lines: Sequence[_Line], space: FeatureSpace) -> Iterator[GivenResult]:
    """Yield the searches of lines that are factual or counterfactual; a factual alone is a search without a result."""
    key = ROW if ROW in lines[0].cells else CASE
    factuals: dict[str, _Line] = {}
    found: dict[str, list[_Line]] = {}
    for line in lines:
        case, role = line.cells[key], line.cells[ROLE]
        if role == COUNTERFACTUAL:
            found.setdefault(case, []).append(line)
        elif role != FACTUAL:
            allowed = f"{FACTUAL!r} or {COUNTERFACTUAL!r}"
            line.problems.append(f"{line.place}, column {ROLE!r}: {role!r} is not {allowed}")
        elif case in factuals:
            line.problems.append(f"{line.place}: a second factual of {key} {case!r}; {factuals[case].place} has one")
        else:
            factuals[case] = line
    for case, of_case in found.items():
        if case not in factuals:
            of_case[0].problems.append(f"{of_case[0].place}: there is no factual of {key} {case!r}")
    for case, factual in factuals.items():
        x = [factual.cells[name] for name in space.names]
        for line in found.get(case, [factual]):
            z = [""] * space.d if line is factual else [line.cells[name] for name in space.names]
            yield _result(line, x, z, space)


def _result(line: _Line, x: Sequence[str], z: Sequence[str], space: FeatureSpace) -> GivenResult:
    row, repetition, queries = (line.number(name, whole=True) for name in (ROW, "repetition", "queries"))
    factual, unread = _vector(x, space)
    has_none = all(text.casefold() in MISSING for text in z)
    found, objection = (None, "") if has_none else _vector(z, space)
    return GivenResult(
        place=line.place,
        row=None if row is None else int(row),
        repetition=int(repetition or 0),
        x=factual,
        z=found,
        objection=objection,
        unread=unread,
        seconds=line.number("seconds", whole=False),
        queries=None if queries is None else int(queries),
    )


def _vector(texts: Sequence[str], space: FeatureSpace) -> tuple[FloatArray, str]:
    """Return a row in the data set's coordinates, and what cannot be read of it."""
    values = np.full(space.d, np.nan)
    problems = []
    for i, (text, feature) in enumerate(zip(texts, space.features, strict=True)):
        value = _code(text, feature) if feature.kind is Kind.CATEGORICAL else _number(text)
        if value is not None:
            values[i] = value
        elif text.casefold() in MISSING:
            problems.append(f"{feature.name} has no value")
        elif feature.kind is Kind.CATEGORICAL:
            problems.append(f"{feature.name} = {text!r:.60} is not one of its categories")
        else:
            problems.append(f"{feature.name} = {text!r:.60} is not a number")
    return values, "; ".join(problems[:SHOWN])


def _with_point(cell: str) -> str:
    """Return a number's decimal comma as a point."""
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _number(text: str) -> float | None:
    try:
        value = float(text.replace("_", "?"))  # Python reads 1_000 as a number
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _code(text: str, feature: FeatureSpec) -> float | None:
    """Return the code of a category: R writes TRUE for true, and pandas writes 3.0 for 3 if a column has gaps."""
    whole, _, rest = text.partition(".")
    for wanted in (text, whole if rest and not rest.strip("0") else text):
        if wanted in feature.categories:
            return float(feature.categories.index(wanted))
    alike = [code for code, label in enumerate(feature.categories) if label.casefold() == text.casefold()]
    return float(alike[0]) if len(alike) == 1 else None
