"""Searches as arrow tables and data frames, as they are handed to metrics, notebooks and tracking stores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from cfbench.record.schema import MEASURES, ROW_VERSION, SEARCHES, WHOLE, FieldKind, Row
from cfbench.study.protocol import PROTOCOL_VERSION

_ARROW = {
    "string": pa.string(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "list<double>": pa.list_(pa.float64()),
    "list<list<double>>": pa.list_(pa.list_(pa.float64())),
    "list<struct<queries: int64, loss: double>>": pa.list_(
        pa.struct([pa.field("queries", pa.int64()), pa.field("loss", pa.float64())])
    ),
    "map<string, double>": pa.map_(pa.string(), pa.float64()),
}
_VERSIONS = {"cfbench_schema": str(ROW_VERSION), "cfbench_protocol": str(PROTOCOL_VERSION)}


def _schema(fields: Mapping[str, FieldKind]) -> pa.Schema:
    columns = [pa.field(name, _ARROW[kind.arrow], nullable=kind.is_optional) for name, kind in fields.items()]
    return pa.schema(columns, metadata=_VERSIONS)


SEARCH_SCHEMA = _schema(SEARCHES.fields)
"""Columns of a search's row, in order."""

MEASURE_SCHEMA = _schema(
    {name: MEASURES.fields[name] for name in ("cell_key", "metric", "version", "settings")}
    | {"point": WHOLE, "repetition": WHOLE}
).append(pa.field("value", pa.float64()))
"""Columns of a metric's table, in order; a null value is outside the metric's denominator."""


def rows_of(table: pa.Table) -> list[Row]:
    """Return an arrow table of searches as rows; they are not checked."""
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in SEARCH_SCHEMA.names}
    columns["anytime"] = [[[pair["queries"], pair["loss"]] for pair in pairs] for pairs in columns["anytime"]]
    columns["figures"] = [dict(pairs) for pairs in columns["figures"]]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def search_frame(
    rows: Iterable[Row], coordinates: Mapping[str, list[Any]] | None = None, *, columns: Collection[str] = ()
) -> pd.DataFrame:
    """Return searches as a data frame.

    Parameters
    ----------
    rows : iterable of dict
        In their one form.
    coordinates : mapping of str to list, optional
        Further columns, which follow the cell's key.
    columns : collection of str
        Columns that are needed; all if it is empty.

    Returns
    -------
    DataFrame
        `x` and `z` as float64 arrays of shape (d,), `z` None if absent; `candidates` as float64 arrays of shape
        (k, d); `anytime` as lists of (queries, loss); `figures` as dicts; absent numbers, in `l0` as well, as NaN.
    """
    listed = list(rows)
    frame: dict[str, pd.Series[Any]] = {}
    for name, kind in SEARCHES.fields.items():
        if columns and name not in columns:
            continue
        values = [row[name] for row in listed]
        if name == "candidates":
            values = [np.array(value, dtype=np.float64).reshape(len(value), len(row["x"])) for value, row in
                      zip(values, listed, strict=True)]  # fmt: skip
        elif name == "anytime":
            values = [[(queries, loss) for queries, loss in pairs] for pairs in values]
        elif kind.arrow == "list<double>":
            values = [None if value is None else np.array(value, dtype=np.float64) for value in values]
        frame[name] = _series(values, "double" if kind.is_optional and kind.arrow == "int64" else kind.arrow)
        if name == "cell_key" and coordinates is not None:
            types = {"constraints": "bool", "fold": "int64"}
            frame |= {name: _series(given, types.get(name, "string")) for name, given in coordinates.items()}
    return pd.DataFrame(frame)


def _series(values: list[Any], arrow: str) -> pd.Series[Any]:
    plain = {"string": "str", "int64": "int64", "double": "float64", "bool": "bool"}.get(arrow)
    if plain is not None:
        return pd.Series(values, dtype=plain)
    # Filled one by one: from a list, numpy would make one array of vectors of equal length.
    array = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return pd.Series(array, dtype=object)
