"""Searches as arrow tables and data frames, as they are handed to metrics, notebooks and tracking stores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
_PANDAS = {"string": "str", "int64": "int64", "double": "float64"}
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


def search_frame(rows: Iterable[Row], *, columns: Collection[str] = ()) -> pd.DataFrame:
    """Return searches, rows in their one form, as a data frame; with `columns`, with those alone.

    `x` and `z` are float64 arrays of shape (d,), `z` None if absent; `candidates` are float64 arrays of shape (k, d);
    `anytime` are lists of (queries, loss); `figures` are dicts; absent numbers, in `l0` as well, are NaN.
    """
    listed = list(rows)
    frame: dict[str, pd.Series[Any]] = {}
    for name, kind in SEARCHES.fields.items():
        if columns and name not in columns:
            continue
        values = search_column(listed, name)
        # Integers cannot be NaN. `l0` is always float64, queries only if some are unknown.
        needs_nan = kind.arrow == "int64" and (kind.is_optional if kind.unknown is None else None in values)
        frame[name] = pd.Series(values, dtype="float64" if needs_nan else _PANDAS.get(kind.arrow, "object"))
    return pd.DataFrame(frame)


def search_column(rows: Sequence[Row], name: str) -> list[Any]:
    """Return a column of searches as `search_frame` describes it, except that absent numbers are None."""
    values = [row[name] for row in rows]
    if name == "candidates":
        shapes = [(len(row[name]), len(row["x"])) for row in rows]
        return [np.reshape(np.array(value, dtype=np.float64), d) for value, d in zip(values, shapes, strict=True)]
    if name == "anytime":
        return [list(map(tuple, pairs)) for pairs in values]
    if SEARCHES.fields[name].arrow == "list<double>":
        return [None if value is None else np.array(value, dtype=np.float64) for value in values]
    return values
