"""Reading tables of unknown form: encoding, delimiter, header and decimal sign are found out, and said."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from cfbench.errors import DataError
from cfbench.tables.annotation import refuse_device
from cfbench.tables.folder import Line, TextTable, read_lines, text_table

if TYPE_CHECKING:
    import pandas as pd

GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NaT", "NULL", "null"})
"""Cells that are read as missing."""

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_RECORDS_LOOKED_AT = 200
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_OTHER_FILES = {
    b"PK\x03\x04": "a spreadsheet or an archive; save its sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file; save its sheet as CSV",
    b"\x1f\x8b": "compressed; unpack it",
    b"PAR1": "a parquet file; read it with pandas, and give the frame to `cfbench.annotate`",
}


@dataclass(frozen=True)
class FoundTable:
    """A table, and what was found out about its file.

    `form` describes the file in a few words, and is empty for a data frame. `notes` are sentences about columns that
    were named or renamed. `decimal_comma` is whether a comma may stand before decimals.
    """

    table: TextTable
    form: str
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False


def read_any(path: Path) -> FoundTable:
    """Read a table of separated text, whatever its delimiter, encoding and header.

    Raises
    ------
    DataError
        If it is missing, is no separated text, or has a ragged row.
    """
    refuse_device(path)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; name a table of separated text, such as data.csv") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}; name a table of separated text") from error
    text, encoding = _decoded(path, raw)
    declared = re.match(r"sep=(.)\r?\n", text)  # Excel's own way to name the delimiter
    delimiter = declared[1] if declared else _delimiter(path, text)
    lines = read_lines(str(path), io.StringIO(text, newline=""), delimiter)[1 if declared else 0 :]
    header, body, notes = _header(lines)
    table = text_table(str(path), header, body)
    comma = uses_decimal_commas((table.column(name) for name in table.header), semicolons=delimiter == ";")
    parts = [f"separated by {DELIMITERS.get(delimiter, repr(delimiter))}", encoding, "decimal commas" if comma else ""]
    return FoundTable(table, ", ".join(part for part in parts if part), tuple(notes), comma)


def read_frame(frame: pd.DataFrame, origin: str) -> FoundTable:
    """Return a data frame's cells as text: numbers with all their digits, gaps empty.

    Raises DataError if it has no rows or no columns.
    """
    if not len(frame) or not len(frame.columns):
        raise DataError(f"{origin} has {len(frame)} rows and {len(frame.columns)} columns; it needs some of both")
    header, notes = _named([str(name) for name in frame.columns])
    columns = [_cells(frame.iloc[:, place]) for place in range(len(frame.columns))]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return FoundTable(TextTable(origin, tuple(header), rows), "", tuple(notes), uses_decimal_commas(columns))


def _cells(column: pd.Series) -> list[str]:
    gaps = column.isna().tolist()
    return ["" if gap else _one_line(str(value)) for value, gap in zip(column.tolist(), gaps, strict=True)]


def _one_line(cell: str) -> str:
    return cell if cell.isprintable() and cell == cell.strip() else " ".join(cell.split())


def _decoded(path: Path, raw: bytes) -> tuple[str, str]:
    """Return a file's text and what to say of its encoding."""
    for start, what in _OTHER_FILES.items():
        if raw.startswith(start):
            raise DataError(f"{path} is no text: it is {what}")
    encoding = next((encoding for bom, encoding in _BOMS.items() if raw.startswith(bom)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            raise DataError(f"{path} begins as {encoding} text and goes on otherwise; save it as UTF-8") from None
        encoding = "cp1252" if re.search(rb"[\x80-\x9f]", raw) else "latin-1"  # signs such as the euro, or none
        text = raw.decode(encoding, errors="replace")
    if not text.strip():
        raise DataError(f"{path} is empty; it needs a line with the columns' names and a line for every case")
    if "\0" in text:
        raise DataError(f"{path} is no text: it holds zero bytes; save the table as CSV in UTF-8")
    if encoding not in ("cp1252", "latin-1"):
        return text, f"in {encoding.removesuffix('-sig')}"
    word = re.search(r"[^\W_]*[^\W\d_\x00-\x7f][^\W_]*", text)
    return text, f"in {encoding}{f', where a word is {word[0]!r}' if word else ''}"


def _delimiter(path: Path, text: str) -> str:
    """Return the delimiter that gives the most columns in the most rows."""
    best, found = (0.0, 0), ""
    for delimiter in DELIMITERS:
        try:
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
            widths = [len(row) for row in islice(reader, _RECORDS_LOOKED_AT) if row not in ([], [""])]
        except csv.Error:
            continue
        if not widths or widths[0] == 1:
            continue
        score = (widths.count(widths[0]) / len(widths), widths[0])
        if score > best:
            best, found = score, delimiter
    if not found:
        raise DataError(
            f"{path} has one column, or is no table: its first line has no comma, semicolon, tab or vertical bar. A "
            "table has a column for the class and one for each feature"
        )
    return found


def _header(lines: Sequence[Line]) -> tuple[list[str], Sequence[Line], list[str]]:
    """Return the columns' names, the rows, and what there is to say of the names."""
    first, body = lines[0][1], [(line, [_one_line(cell) for cell in row]) for line, row in lines[1:]]
    whole = [row for _, row in body if len(row) == len(first)]
    if whole and all(_fits(cell, [row[place] for row in whole]) for place, cell in enumerate(first)):
        names = [f"column-{place + 1}" for place in range(len(first))]
        return names, [(lines[0][0], first), *body], [f"the first line is a row like the others: {names[0]} and so on"]
    names, notes = _named(first)
    return names, body, notes


def _fits(cell: str, below: Sequence[str]) -> bool:
    """Return whether a cell of the first line may be one of its column's values."""
    values = Counter(value for value in below if value not in GAPS)
    if cell in GAPS or not values:
        return cell in GAPS  # the other columns decide
    if all(NUMBER.fullmatch(value) or COMMA_NUMBER.fullmatch(value) for value in values):
        return bool(NUMBER.fullmatch(cell) or COMMA_NUMBER.fullmatch(cell))
    if len(values) * 2 > len(below):  # texts, dates, identifiers
        return sum(_signs(value) == _signs(cell) for value in values) * 2 >= len(values)
    return cell in values


def _signs(cell: str) -> set[str]:
    return {"0" if sign.isdigit() else sign for sign in cell if not sign.isalpha()}


def _named(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names that are all different and not empty, and a sentence for each that was made."""
    found: list[str] = []
    notes = []
    for place, given in enumerate(names, start=1):
        name = plain = _one_line(given)
        number = 1
        if not plain:
            name = plain = f"column-{place}"
        while name in found or (number > 1 and name in names):
            number += 1
            name = f"{plain}-{number}"
        if not given.strip():
            notes.append(f"column {place} has no name; it is called {name!r}")
        elif number > 1:
            notes.append(f"column {place} has the name of another one, {plain!r}; it is called {name!r}")
        found.append(name)
    return found, notes


NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+")
"""A number with a decimal comma, and perhaps with dots between thousands."""

_DOTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+")
_COMMAS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_SPACES = " '\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{RIGHT SINGLE QUOTATION MARK}"
_SPACED = re.compile(rf"(?<=\d)[{_SPACES}](?=\d{{3}}(\D|$))")
PADDED = re.compile(r"[+-]?0\d+")
"""A code with leading zeros, which a number would lose."""


def uses_decimal_commas(columns: Iterable[Collection[str]], *, semicolons: bool = False) -> bool:
    """Return whether some column consists of numbers with decimal commas.

    1,234 counts as 1.234 only if `semicolons` separate the columns; elsewhere it is 1234.
    """
    for cells in columns:
        commas = [_plain_signs(value) for value in {*cells} if "," in value]
        if not commas or not all(COMMA_NUMBER.fullmatch(value) for value in commas):
            continue
        others = [_plain_signs(value) for value in {*cells} - GAPS if "," not in value]
        thousands = all(_COMMAS.fullmatch(value) for value in commas) and not semicolons
        if not thousands and all(NUMBER.fullmatch(value) or _DOTS.fullmatch(value) for value in others):
            return True
    return False


def _plain_signs(value: str) -> str:
    return _SPACED.sub("", value).replace("\N{MINUS SIGN}", "-")


def as_numbers(values: Collection[str], *, decimal_comma: bool) -> dict[str, str] | None:
    """Return how Python writes the numbers of a column, by their spellings; None if one of them is not a number."""
    plain = {value: _plain_signs(value) for value in values}
    commas = [number for number in plain.values() if "," in number]
    if not all((COMMA_NUMBER if decimal_comma else _COMMAS).fullmatch(number) for number in commas):
        return None
    if decimal_comma:
        dotted = [number for number in plain.values() if "." in number and "," not in number]
        if all(_DOTS.fullmatch(number) for number in dotted):
            plain = {value: number.replace(".", "").replace(",", ".") for value, number in plain.items()}
        elif commas:
            return None  # a column with both decimal signs
    else:
        plain = {value: number.replace(",", "") for value, number in plain.items()}
    return plain if all(NUMBER.fullmatch(number) for number in plain.values()) else None
