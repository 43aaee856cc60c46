"""A search's row survives the database and parquet, whatever it holds."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfbench.errors import RecordError
from cfbench.record.frames import SEARCH_SCHEMA, search_frame
from cfbench.record.schema import SEARCHES, DamagedError, checked_rows

MakeRow = Callable[..., dict[str, Any]]

wholes = st.integers(0, 2**63 - 1)
amounts = st.floats(0, allow_infinity=False)
perhaps = st.none() | amounts


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    width = draw(st.integers(0, 3))
    vectors = st.lists(st.floats(), min_size=width, max_size=width)
    return {
        "z": draw(st.none() | vectors),
        "x": draw(vectors),
        "candidates": draw(st.lists(vectors, max_size=3)),
        "status": draw(st.sampled_from(["found", "invalid", "crashed"])),
        "reason": draw(st.text()),
        "loss": draw(perhaps),
        "objective_value": draw(st.none() | st.floats(allow_nan=False)),
        "l0": draw(st.none() | wholes),
        "search_queries": draw(wholes),
        "anytime": draw(st.lists(st.tuples(wholes, amounts), max_size=3)),
        "figures": draw(st.dictionaries(st.text(), st.floats(), max_size=3)),
        "wall_seconds": draw(amounts),
    }


@pytest.mark.slow
@given(changes=rows())
@settings(max_examples=100)
def test_the_database_and_parquet_give_back_the_same_bits(changes: dict[str, Any], make_row: MakeRow) -> None:
    row = SEARCHES.checked(make_row(3, **changes))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(SEARCHES.create)
        connection.execute(SEARCHES.insert, SEARCHES.stored(row))
        (values,) = connection.execute(SEARCHES.select())
    assert repr(SEARCHES.loaded(values)) == repr(row)
    listed = {**row, "anytime": [{"queries": q, "loss": loss} for q, loss in row["anytime"]]}
    listed["figures"] = list(row["figures"].items())
    assert repr(checked_rows(pa.Table.from_pylist([listed], schema=SEARCH_SCHEMA).to_pylist())) == repr([row])
    assert search_frame([row])["candidates"].iloc[0].shape == (len(row["candidates"]), len(row["x"]))


@pytest.mark.slow
@given(changes=rows(), place=st.integers(0, 20), other=st.none() | st.integers(-3, 3) | st.floats() | st.binary())
@settings(max_examples=100)
def test_a_changed_value_is_noticed(changes: dict[str, Any], place: int, other: Any, make_row: MakeRow) -> None:
    values = list(SEARCHES.stored(SEARCHES.checked(make_row(3, **changes))))
    if repr(values[place]) != repr(other):
        values[place] = other
        with pytest.raises(DamagedError):  # mostly by its digest; a blob of 0 bytes has that of the number 0
            SEARCHES.loaded(values)


def test_arrays_and_lists_and_both_spellings_of_anytime_are_one_row(make_row: MakeRow) -> None:
    row = make_row(1)
    plain = row | {
        "x": row["x"].tolist(),
        "z": row["z"].tolist(),
        "candidates": row["candidates"].tolist(),
        "anytime": [{"queries": 1, "loss": 1.5}, {"queries": np.int64(50), "loss": np.float64(0.5)}],
        "point": np.int64(1),
    }
    assert repr(SEARCHES.checked(plain)) == repr(SEARCHES.checked(row))


def test_nan_is_null_where_null_is_allowed_only(make_row: MakeRow) -> None:
    row = SEARCHES.checked(make_row(0, status="invalid", z=[math.nan, math.inf, -math.inf], objective_value=math.nan))
    assert row["loss"] is None
    assert row["objective_value"] is None
    assert repr(row["z"]) == "[nan, inf, -inf]"


def test_half_a_surrogate_pair_is_written_as_an_escape(make_row: MakeRow) -> None:
    assert SEARCHES.checked(make_row(0, reason="file \udcff"))["reason"] == "file \\udcff"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"point": -1}, "column 'point'.*cannot hold -1: it must be a whole number from 0"),
        ({"search_queries": 2**63}, "column 'search_queries'.*9223372036854775808"),
        ({"repetition": 0.5}, "column 'repetition'"),
        ({"status": "bogus"}, "column 'status'.*'found', 'not_found', "),
        ({"candidates": [[1.0, 2.0, 3.0], [1.0]]}, "column 'candidates'.*a vector of 1 numbers, x has 3"),
        ({"z": [1.0, 2.0]}, "column 'z'.*a vector of 2 numbers, x has 3"),
        ({"x": []}, "column 'z'.*a vector of 3 numbers, x has 0"),
        ({"wall_seconds": -0.1}, "column 'wall_seconds'.*it must be a finite number from 0"),
        ({"gower": math.inf}, "column 'gower'"),
        ({"anytime": [(1, -1.0)]}, "column 'anytime'"),
        ({"figures": {"bound": "high"}}, "column 'figures'"),
        ({"point": True}, "column 'point'.*it must be a whole number from 0"),
        ({"colour": 1}, "missing: none; unknown: colour"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_column(make_row: MakeRow, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        SEARCHES.checked(make_row(0) | changes)


def test_stored_figures_are_a_table(make_row: MakeRow) -> None:
    stored = dict(zip(SEARCHES.columns, SEARCHES.stored(SEARCHES.checked(make_row(0))), strict=False))
    with pytest.raises(RecordError, match=r"column 'figures'.*it must be a table of numbers by name"):
        SEARCHES.checked(stored | {"figures": "[]"}, are_stored=True)


def test_the_rows_of_a_cell_are_sorted_and_each_search_is_there_once(make_row: MakeRow) -> None:
    rows = [make_row(1), make_row(0, 1), make_row(0, 0)]
    assert [(row["point"], row["repetition"]) for row in checked_rows(rows)] == [(0, 0), (0, 1), (1, 0)]
    with pytest.raises(RecordError, match="point 1, repetition 0: it is there twice"):
        checked_rows([*rows, make_row(1)])
    with pytest.raises(RecordError, match="point 2, repetition 0: column 'status'"):
        checked_rows([*rows, make_row(2) | {"status": "bogus"}])
