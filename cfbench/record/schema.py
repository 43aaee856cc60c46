"""What a record holds, field by field: the tables of the database, their checks and stored forms follow from here.

To add a field of a search, add one line to ``SEARCHES``. The database's table, the check of rows that are written and
read, the packed files and the data frame's column follow from it; `SCHEMA_VERSION` goes up. A field of a cell is a
field of `cfbench.record.cells.CellSummary`.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from cfbench.errors import RecordError
from cfbench.problem.outcome import Status

SCHEMA_VERSION = 2
"""The tables below, in a database or packed. Version 1 was a directory of journals and parquet files."""
ROW_VERSION = 1
"""The columns of a search's row and of a measure's, as tracking stores and version 1 have them."""
TIME_COLUMNS = ("wall_seconds", "cpu_seconds")
"""The columns that differ between two runs of the same study."""
WRONG = (TypeError, ValueError, OverflowError, KeyError, IndexError, RecursionError)
"""What a check or a conversion raises for a value that a field cannot hold."""

Row = dict[str, Any]
"""A search: strings, int, float, lists of float; `anytime` a list of [queries, loss]; `figures` sorted by name."""
SearchId = tuple[int, int]
"""(point, repetition): names a search within its cell."""
MetricId = tuple[str, str, str]
"""(metric with its variant label, version, settings as canonical JSON)."""

Whole = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
"""A count, a position or a row of the data set."""
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A loss or a number of seconds."""
Name = Annotated[str, Field(max_length=10_000)]
"""A name, a version or a reason; cfbench writes no longer ones."""

_KEY = re.compile(r"[0-9a-f]{32}")


class DamagedError(RecordError):
    """A row of the database that cfbench does not write, or whose digest does not fit."""


def checked_key(key: str) -> str:
    """Return `key`; raise RecordError if it is not the key of a cell, 32 hexadecimal digits."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise RecordError(f"{key!r:.100} is no cell's key: a key is 32 hexadecimal digits in lower case")
    return key


def sorted_text(value: Any) -> str:
    """Return JSON text with sorted keys; NaN and infinities, which JSON lacks, become the strings that float reads."""
    try:
        return _SORTED(value)
    except ValueError:
        return _SORTED(_without_infinities(value))


_SORTED = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=True).encode


def _without_infinities(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _without_infinities(item) for key, item in value.items()}
    return [_without_infinities(item) for item in value] if isinstance(value, (list, tuple)) else value


# ---------------------------------------------------------------- kinds of fields


@dataclass(frozen=True)
class FieldKind:
    """What a field may hold, and how it is stored.

    `sql` is the column's type in SQLite; without NOT NULL, None is allowed, and NaN means None. `check` returns a given
    value in its one form, or raises one of `WRONG`. `store` and `load` lead from that form to what SQLite holds, and
    back; `check` is applied after `load`. `arrow` is the column's type in tables that are handed on. `unknown` is what
    SQLite holds for None in a column that is NOT NULL.
    """

    sql: str
    check: Callable[[Any], Any]
    store: Callable[[Any], Any] | None = None
    load: Callable[[Any], Any] | None = None
    arrow: str = "string"
    unknown: float | None = None

    @property
    def is_optional(self) -> bool:
        """Whether the field may hold None."""
        return "NOT NULL" not in self.sql or self.unknown is not None

    @property
    def optional(self) -> FieldKind:
        """The kind that may hold None in addition."""
        return replace(self, sql=self.sql.removesuffix(" NOT NULL"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be a string")
    # SQLite and parquet hold UTF-8: half a surrogate pair, as in a strange file name, is written as an escape.
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= operator.index(value) < 2**63:
        raise ValueError("it must be a whole number from 0 to 2**63 - 1")
    return operator.index(value)


def _amount(value: Any) -> float:
    if isinstance(value, (str, bool)) or not 0 <= float(value) < math.inf:
        raise ValueError("it must be a finite number from 0")
    return float(value)


def _loaded_flag(value: Any) -> bool:
    if value not in (0, 1):
        raise ValueError("it must be true or false")
    return bool(value)


def _vector(value: Any) -> list[float]:
    return [float(item) for item in value]


def _matrix(value: Any) -> list[list[float]]:
    return [_vector(item) for item in value]


def _anytime(value: Any) -> list[list[float]]:
    pairs = [(pair["queries"], pair["loss"]) if isinstance(pair, Mapping) else pair for pair in value]
    return [[_whole(queries), _amount(loss)] for queries, loss in pairs]


def _figures(value: Any) -> dict[str, float]:
    # A map of a parquet file comes as pairs.
    return dict(sorted((_text(name), float(number)) for name, number in dict(value).items()))


def _loaded_figures(text: str) -> dict[str, Any]:
    if not isinstance(found := json.loads(text), dict):
        raise TypeError("it must be a table of numbers by name")
    return found


def packed_numbers(values: Iterable[float]) -> bytes:
    """Return float64 numbers as bytes, little-endian."""
    return np.asarray(values, dtype="<f8").tobytes()


def unpacked_numbers(data: bytes) -> list[float]:
    """Return the numbers that `packed_numbers` has packed; raise ValueError if `data` is cut off."""
    found: list[float] = np.frombuffer(data, dtype="<f8").tolist()
    return found


def _packed_matrix(rows: Sequence[Sequence[float]]) -> bytes:
    """Pack the number of rows, then the rows one after the other."""
    return packed_numbers([len(rows), *chain(*rows)] if rows else [])


def _unpacked_matrix(data: bytes) -> list[list[float]]:
    numbers = np.frombuffer(data, dtype="<f8")
    found: list[list[float]] = numbers[1:].reshape(int(numbers[0]), -1).tolist() if len(numbers) else []
    return found


def of_type(python_type: Any) -> FieldKind:
    """Return the kind of a field that holds a value of a type, written as JSON."""
    return FieldKind("TEXT NOT NULL", TypeAdapter(python_type).validate_python, sorted_text, json.loads)


_STATUS = TypeAdapter(Status)
KEY = FieldKind("TEXT NOT NULL", checked_key)
TEXT = FieldKind("TEXT NOT NULL", _text)
NAME = FieldKind("TEXT NOT NULL", TypeAdapter(Name).validate_python)
STATUS = FieldKind("TEXT NOT NULL", lambda value: str(_STATUS.validate_python(value)))
WHOLE = FieldKind("INTEGER NOT NULL", _whole, arrow="int64")
FLAG = FieldKind("INTEGER NOT NULL", TypeAdapter(StrictBool).validate_python, int, _loaded_flag)
AMOUNT = FieldKind("REAL NOT NULL", _amount, arrow="double")
NUMBER = FieldKind("REAL NOT NULL", float, arrow="double")
SECONDS = replace(AMOUNT, unknown=-1.0)
"""A number of seconds; None, as -1, if it is unknown, as of results that were made elsewhere."""
QUERIES = replace(WHOLE, unknown=-1)
"""A number of queries; None, as -1, if it is unknown."""
VECTOR = FieldKind("BLOB NOT NULL", _vector, packed_numbers, unpacked_numbers, "list<double>")
MATRIX = FieldKind("BLOB NOT NULL", _matrix, _packed_matrix, _unpacked_matrix, "list<list<double>>")
ANYTIME = FieldKind("TEXT NOT NULL", _anytime, sorted_text, json.loads, "list<struct<queries: int64, loss: double>>")
FIGURES = FieldKind("TEXT NOT NULL", _figures, sorted_text, _loaded_figures, "map<string, double>")


# ---------------------------------------------------------------- tables


@dataclass(frozen=True)
class Table:
    """A table of the database. Its last column is a digest of the others, by which a damaged row is known.

    `key` has the fields that name a row; `check` looks at the fields of a row together.
    """

    name: str
    key: tuple[str, ...]
    fields: Mapping[str, FieldKind]
    check: Callable[[Row], Row] = lambda row: row

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(self.fields)

    @property
    def create(self) -> str:
        """The statement that creates the table. STRICT: SQLite refuses a value of another type."""
        columns = ", ".join(f'"{name}" {kind.sql}' for name, kind in self.fields.items())
        return f"CREATE TABLE {self.name} ({columns}, digest BLOB NOT NULL, PRIMARY KEY ({', '.join(self.key)})) STRICT"

    @property
    def insert(self) -> str:
        """The statement that inserts a row, in place of an earlier one of the same key."""
        return f"INSERT OR REPLACE INTO {self.name} VALUES ({', '.join('?' * (len(self.fields) + 1))})"  # noqa: S608

    def select(self, where: str = "", order: str = "") -> str:
        """Return the statement that reads rows, digests included."""
        names = ", ".join(f'"{name}"' for name in (*self.columns, "digest"))
        condition = f" WHERE {where}" if where else ""
        return f"SELECT {names} FROM {self.name}{condition}{f' ORDER BY {order}' if order else ''}"  # noqa: S608

    def checked(self, given: Mapping[str, Any], *, are_stored: bool = False) -> Row:
        """Return a row in its one form; raise DamagedError if a field is missing, unknown or holds what it cannot."""
        if given.keys() != self.fields.keys():
            missing = ", ".join(sorted(self.fields.keys() - given.keys())) or "none"
            unknown = ", ".join(sorted(map(str, given.keys() - self.fields.keys()))) or "none"
            raise DamagedError(f"a row of {self.name} has other columns (missing: {missing}; unknown: {unknown})")
        row: Row = {}
        for name, kind in self.fields.items():
            value = given[name]
            if are_stored and kind.unknown is not None and value == kind.unknown:
                value = None
            try:
                if kind.is_optional and (value is None or (isinstance(value, float) and math.isnan(value))):
                    row[name] = None
                else:
                    row[name] = kind.check(kind.load(value) if are_stored and kind.load is not None else value)
            except (*WRONG, RecordError) as error:
                why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
                raise DamagedError(
                    f"column {name!r} of a row of {self.name} cannot hold {value!r:.100}: {why}"
                ) from error
        return self.check(row)

    def stored(self, row: Row) -> tuple[Any, ...]:
        """Return what SQLite holds of a checked row, with its digest."""
        values = tuple(
            kind.unknown if row[name] is None else row[name] if kind.store is None else kind.store(row[name])
            for name, kind in self.fields.items()
        )
        return *values, digest_of_values(values)

    def loaded(self, values: Sequence[Any]) -> Row:
        """Return the row that SQLite holds; raise DamagedError if its digest or a value does not fit."""
        self.check_digest(values)
        return self.checked(dict(zip(self.fields, values[:-1], strict=True)), are_stored=True)

    def check_digest(self, values: Sequence[Any]) -> None:
        """Raise DamagedError if the digest does not fit."""
        if digest_of_values(values[:-1]) != values[-1]:
            raise DamagedError("its digest does not fit what it holds")


def digest_of_values(values: Sequence[Any]) -> bytes:
    """Return eight bytes that stand for a row's values, the same on every machine."""
    plain = [len(value) if type(value) is bytes else value for value in values]
    blobs = [value for value in values if type(value) is bytes]
    return hashlib.blake2b(ascii(plain).encode("ascii") + b"".join(blobs), digest_size=8).digest()


def _of_one_width(row: Row) -> Row:
    d = len(row["x"])  # 0 if a packed record leaves the rows of a data set out
    for name, vectors in (("z", [] if row["z"] is None else [row["z"]]), ("candidates", row["candidates"])):
        others = [len(vector) for vector in vectors if len(vector) != d]
        if others:
            raise DamagedError(f"column {name!r} of a search's row holds a vector of {others[0]} numbers, x has {d}")
    return row


SEARCHES = Table(
    "searches",
    ("cell_key", "point", "repetition"),
    {
        "cell_key": KEY,
        "point": WHOLE,  # position among the fold's eligible points
        "row_id": WHOLE,  # row of the data set
        "repetition": WHOLE,
        "status": STATUS,
        "reason": TEXT,
        "x": VECTOR,
        "z": VECTOR.optional,
        "candidates": MATRIX,
        "loss": AMOUNT.optional,  # the loss (Eq. 9); None, like its parts, without a valid result
        "gower": AMOUNT.optional,
        "l0": WHOLE.optional,
        "cost": AMOUNT.optional,
        "objective_value": NUMBER.optional,
        "search_queries": QUERIES,
        "robustness_queries": QUERIES,
        "wall_seconds": SECONDS,
        "cpu_seconds": SECONDS,
        "anytime": ANYTIME,
        "figures": FIGURES,
        "model_fingerprint": TEXT,
    },
    _of_one_width,
)

MEASURES = Table(
    "measures",
    ("cell_key", "metric", "version", "settings"),
    {
        "cell_key": KEY,
        "metric": TEXT,  # name with its variant label
        "version": TEXT,
        "settings": TEXT,  # canonical JSON, every setting
        "mark": TEXT,  # of the finished searches that were measured
        "values": VECTOR,  # one per finished search, in order; NaN: outside the metric's denominator
    },
)

PREPARATIONS = Table("preparations", ("cell_key",), {"cell_key": KEY, "seconds": AMOUNT, "queries": WHOLE})
"""What `Searcher.prepare` took in one worker; cells of searchers that prepare nothing have no row."""

MACHINES = Table("machines", ("description",), {"description": of_type(dict[Name, Name])})
STUDY = Table("study", ("name",), {"name": TEXT, "value": TEXT})


def checked_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of one cell in their one form, sorted by point and repetition; an error names the search."""
    found: dict[SearchId, Row] = {}
    for row in rows:
        named = f"point {row.get('point')!r:.20}, repetition {row.get('repetition')!r:.20}"
        try:
            checked = SEARCHES.checked(row)
        except RecordError as error:
            raise RecordError(f"{named}: {error}") from error
        search = checked["point"], checked["repetition"]
        if search in found:
            raise RecordError(f"{named}: it is there twice")
        found[search] = checked
    return [found[search] for search in sorted(found)]
