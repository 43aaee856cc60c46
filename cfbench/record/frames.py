"""From the record's tables to data frames: lists as arrays, nulls as NaN or None."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cfbench.space.space import FloatArray, IntArray


def search_frame(table: pa.Table) -> pd.DataFrame:
    """Return a table of searches as a data frame.

    Parameters
    ----------
    table : Table
        Columns of ``SEARCH_SCHEMA``; further columns of plain types are kept.

    Returns
    -------
    DataFrame
        `x` and `z` as float64 arrays of shape (d,), `z` None where absent; `candidates` as float64 arrays of shape
        (k, d); `anytime` as lists of (queries, loss); `figures` as dicts; absent numbers, in `l0` as well, as NaN.
    """
    # A cast away from chunks: offsets count from the start of one array.
    columns: dict[str, Any] = {name: _single(table[name]) for name in table.column_names}
    dimensions = pc.list_value_length(columns["x"]).to_numpy(zero_copy_only=False)
    frame: dict[str, Any] = {}
    for name, column in columns.items():
        if name in ("x", "z"):
            frame[name] = _objects(_vectors(column))
        elif name == "candidates":
            frame[name] = _objects(_matrices(column, dimensions))
        elif name == "anytime":
            frame[name] = _objects(_pairs(column))
        elif name == "figures":
            frame[name] = _objects([dict(pairs) for pairs in column.to_pylist()])
        elif name == "l0":
            frame[name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            frame[name] = column.to_pandas()
    return pd.DataFrame(frame)


def _single(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _objects(values: list[Any]) -> pd.Series[Any]:
    # Filled one by one: from a list, numpy would make one array of vectors of equal length.
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return pd.Series(array, dtype=object)


def _bounds(column: pa.Array) -> tuple[IntArray, Any]:
    """Return the offsets of a list column, from zero, and the values that they point into."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    return offsets - (offsets[0] if len(offsets) else 0), column.flatten()


def _vectors(column: pa.Array) -> list[FloatArray | None]:
    offsets, values = _bounds(column)
    flat = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    return [
        flat[start:stop] if there else None for start, stop, there in zip(offsets, offsets[1:], present, strict=False)
    ]


def _matrices(column: pa.Array, dimensions: IntArray) -> list[FloatArray]:
    """Return two-dimensional arrays, with as many columns as the search's `x`."""
    outer, rows = _bounds(column)
    inner, values = _bounds(rows)
    flat = np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return [
        flat[inner[start] : inner[stop]].reshape(int(stop - start), int(d))
        for start, stop, d in zip(outer, outer[1:], dimensions, strict=False)
    ]


def _pairs(column: pa.Array) -> list[list[tuple[int, float]]]:
    offsets, values = _bounds(column)
    queries, losses = values.field("queries").to_pylist(), values.field("loss").to_pylist()
    pairs = list(zip(queries, losses, strict=True))
    return [pairs[start:stop] for start, stop in pairwise(offsets)]
