"""A search's row survives JSON and parquet, whatever it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfbench.errors import RecordError
from cfbench.events import CellInfo
from cfbench.harness.store.lines import pack
from cfbench.harness.store.rows import checked_row, parsed_row
from cfbench.harness.store.schema import SEARCH_SCHEMA
from cfbench.harness.store.tables import decode_cell, encode_cell, rows_of

MakeRow = Callable[..., dict[str, Any]]

vectors = st.lists(st.floats(width=64), max_size=4)
wholes = st.integers(0, 2**63 - 1)
perhaps = st.none() | st.floats(allow_nan=False)


@st.composite
def rows(draw: st.DrawFn) -> dict[str, Any]:
    width = draw(st.integers(0, 3))
    matrix = st.lists(st.lists(st.floats(), min_size=width, max_size=width), max_size=3)
    return {
        "z": draw(st.none() | vectors),
        "x": draw(vectors),
        "candidates": draw(matrix),
        "status": draw(st.sampled_from(["found", "invalid", "crashed"])),
        "reason": draw(st.text()),
        "loss": draw(perhaps),
        "objective_value": draw(perhaps),
        "l0": draw(st.none() | wholes),
        "search_queries": draw(wholes),
        "anytime": draw(st.lists(st.tuples(wholes, st.floats()), max_size=3)),
        "figures": draw(st.dictionaries(st.text(), st.floats(), max_size=3)),
        "wall_seconds": draw(st.floats()),
    }


@given(changes=rows())
@settings(max_examples=100)
def test_json_and_parquet_give_back_the_same_bits(changes: dict[str, Any], make_row: MakeRow, info: CellInfo) -> None:
    row = checked_row(make_row(3, **changes))
    assert repr(parsed_row(pack(row))) == repr(row)
    stored = decode_cell(encode_cell(info, {}, 1, [row]), info.key)
    assert repr(rows_of(stored.table)) == repr([row])


def test_the_columns_are_those_of_the_schema(make_row: MakeRow) -> None:
    assert list(checked_row(make_row(0))) == SEARCH_SCHEMA.names


def test_arrays_and_lists_and_both_spellings_of_anytime_are_one_row(make_row: MakeRow) -> None:
    row = make_row(1)
    plain = row | {
        "x": row["x"].tolist(),
        "z": row["z"].tolist(),
        "candidates": row["candidates"].tolist(),
        "anytime": [{"queries": 1, "loss": 1.5}, {"queries": np.int64(50), "loss": np.float64(0.5)}],
        "point": np.int64(1),
    }
    assert repr(checked_row(plain)) == repr(checked_row(row))


def test_nan_is_null_where_null_is_allowed_only(make_row: MakeRow) -> None:
    row = checked_row(make_row(0, status="invalid", z=[math.nan, math.inf, -math.inf], objective_value=math.nan))
    assert row["loss"] is None
    assert row["objective_value"] is None
    assert repr(row["z"]) == "[nan, inf, -inf]"


def test_half_a_surrogate_pair_is_written_as_an_escape(make_row: MakeRow) -> None:
    assert checked_row(make_row(0, reason="file \udcff"))["reason"] == "file \\udcff"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"point": -1}, "column 'point'.*cannot hold -1: it must be a whole number from 0"),
        ({"search_queries": 2**63}, "column 'search_queries'.*9223372036854775808"),
        ({"repetition": 0.5}, "column 'repetition'"),
        ({"status": None}, "column 'status'.*it must be a string"),
        ({"x": None}, "column 'x'"),
        ({"candidates": [[1.0], [1.0, 2.0]]}, "column 'candidates'.*rows must have one length"),
        ({"figures": {"bound": "high"}}, "column 'figures'"),
        ({"anytime": [{"loss": 1.0}]}, "column 'anytime'"),
        ({"colour": 1}, "missing: none; unknown: colour"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_column(make_row: MakeRow, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        checked_row(make_row(0) | changes)


@pytest.mark.parametrize("payload", [b"[1]", b"{", b"[" * 100_000, b'{"point":1}'])
def test_a_payload_that_is_no_row_is_an_error_of_ours(payload: bytes) -> None:
    with pytest.raises(RecordError):
        parsed_row(payload)
