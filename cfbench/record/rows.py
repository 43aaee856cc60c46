"""The row of a search: checked, in one form for journals and tables.

The form: strings, int, float, lists of float; ``anytime`` a list of [queries, loss]; ``figures`` a dict sorted by name.
What a row may hold is said here and nowhere else: rows are checked when they are written, and when a file is read.
"""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from cfbench.errors import RecordError

Row = dict[str, Any]
SearchId = tuple[int, int]
"""(point, repetition): names a search within its cell."""
_LARGEST = 2**63 - 1


def checked_row(row: Mapping[str, Any]) -> Row:
    """Return the row in its one form.

    Parameters
    ----------
    row : mapping
        The columns of ``SEARCH_SCHEMA``. Vectors may be lists or arrays, an entry of ``anytime`` a pair or a mapping
        with ``queries`` and ``loss``. NaN in a column that may be null (loss, its parts, objective value) means null.

    Raises
    ------
    RecordError
        If a column is missing or unknown, or holds what no search can give.
    """
    if row.keys() != _COLUMNS.keys():
        missing = ", ".join(sorted(_COLUMNS.keys() - row.keys())) or "none"
        unknown = ", ".join(sorted(map(str, row.keys() - _COLUMNS.keys()))) or "none"
        raise RecordError(f"a search's row has other columns than the schema (missing: {missing}; unknown: {unknown})")
    checked: Row = {}
    for column, check in _COLUMNS.items():
        try:
            checked[column] = check(row[column])
        except (TypeError, ValueError, OverflowError, KeyError) as error:
            raise RecordError(
                f"column {column!r} of a search's row cannot hold {row[column]!r:.200}: {error}"
            ) from error
    d = len(checked["x"])  # none where a packed record leaves the rows of a data set out
    for name, vectors in (("z", [] if checked["z"] is None else [checked["z"]]), ("candidates", checked["candidates"])):
        others = [len(vector) for vector in vectors if len(vector) != d]
        if others:
            raise RecordError(f"column {name!r} of a search's row holds a vector of {others[0]} numbers, and x has {d}")
    return checked


def checked_rows(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the rows of one cell in their one form, sorted by point and repetition.

    Raises
    ------
    RecordError
        If one of them is not a search's row, or two are of one search; it names the search.
    """
    found: dict[SearchId, Row] = {}
    for row in rows:
        named = f"point {row.get('point')!r:.20}, repetition {row.get('repetition')!r:.20}"
        try:
            checked = checked_row(row)
        except RecordError as error:
            raise RecordError(f"{named}: {error}") from error
        search = checked["point"], checked["repetition"]
        if search in found:
            raise RecordError(f"{named}: it is there twice")
        found[search] = checked
    return [found[search] for search in sorted(found)]


def parsed_row(payload: bytes) -> Row:
    """Return the row in a journal's payload.

    Raises
    ------
    RecordError
        If it is no row of this schema.
    """
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise RecordError("not a search's row")
    return checked_row(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("it must be a string")
    # Parquet holds UTF-8: half a surrogate pair, as in a strange file name, is written as an escape.
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


def _status(value: Any) -> str:
    status = _text(value)
    if status not in _statuses():
        raise ValueError(f"it must be one of {', '.join(_statuses())}")
    return status


@cache
def _statuses() -> tuple[str, ...]:
    from cfbench.problem.outcome import Status  # it brings numpy, without which summaries are read

    return tuple(Status)


def _whole(value: Any) -> int:
    number = operator.index(value)
    if not 0 <= number <= _LARGEST:
        raise ValueError("it must be a whole number from 0 to 2**63 - 1")
    return number


def _whole_or_null(value: Any) -> int | None:
    return None if value is None else _whole(value)


def _number_or_null(value: Any) -> float | None:
    number = math.nan if value is None else float(value)
    return None if math.isnan(number) else number


def _amount(value: Any) -> float:
    number = float(value)
    if not 0 <= number < math.inf:
        raise ValueError("it must be a finite number from 0")
    return number


def _amount_or_null(value: Any) -> float | None:
    number = _number_or_null(value)
    return None if number is None else _amount(number)


def _vector(value: Any) -> list[float]:
    return [float(item) for item in value]


def _vector_or_null(value: Any) -> list[float] | None:
    return None if value is None else _vector(value)


def _matrix(value: Any) -> list[list[float]]:
    return [_vector(item) for item in value]


def _anytime(value: Any) -> list[list[float]]:
    pairs = [(pair["queries"], pair["loss"]) if isinstance(pair, Mapping) else pair for pair in value]
    return [[_whole(queries), _amount(loss)] for queries, loss in pairs]


def _figures(value: Any) -> dict[str, float]:
    return dict(sorted((_text(name), float(number)) for name, number in value.items()))


_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "cell_key": _text,
    "point": _whole,
    "row_id": _whole,
    "repetition": _whole,
    "status": _status,
    "reason": _text,
    "x": _vector,
    "z": _vector_or_null,
    "candidates": _matrix,
    "loss": _amount_or_null,
    "gower": _amount_or_null,
    "l0": _whole_or_null,
    "cost": _amount_or_null,
    "objective_value": _number_or_null,
    "search_queries": _whole,
    "robustness_queries": _whole,
    "wall_seconds": _amount,
    "cpu_seconds": _amount,
    "anytime": _anytime,
    "figures": _figures,
    "model_fingerprint": _text,
}
