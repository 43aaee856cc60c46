"""The files of a cell's run: its tables in the record's schemas, and ``cell.json``, which says whose they are.

Together they are the cell as the record holds it, so that a record can be rebuilt from a tracking server.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfbench.record import MEASURE_SCHEMA, SEARCH_SCHEMA
from cfbench.registry import CellFinished

if TYPE_CHECKING:
    import pandas as pd

ABOUT_NAME, SEARCHES_NAME, MEASURES_NAME = "cell.json", "searches.parquet", "measures.parquet"
LAYOUT = 1
"""Version of ``cell.json`` and of the files that it names."""


@dataclass(frozen=True, eq=False)
class CellTables:
    """What a record holds of a cell."""

    event: CellFinished
    searches: pa.Table  # in the record's schemas; `measures` may have no rows
    measures: pa.Table

    @classmethod
    def of(cls, event: CellFinished) -> CellTables:
        """Take the tables of a finished cell."""
        assert event.searches is not None
        return cls(event, search_table(event.searches), _measure_table(event.measures))

    def digest(self) -> str:
        """Return a digest of all that the tables and the event say, whatever writes them to parquet."""
        about = (asdict(self.event.cell), _canonical(self.event), self.event.eligible)
        # Python writes numbers so that they read back as the same bits.
        text = repr((LAYOUT, about, self.searches.to_pylist(), self.measures.to_pylist()))
        return _digest(text.encode())

    def files(self) -> dict[str, bytes]:
        """Return the files by their names."""
        tables = {SEARCHES_NAME: _parquet(self.searches)}
        if len(self.measures):
            tables[MEASURES_NAME] = _parquet(self.measures)
        about = {
            "layout": LAYOUT,
            "cell": asdict(self.event.cell),
            "content": dict(self.event.content),
            "eligible": self.event.eligible,
            "files": {name: {"bytes": len(data), "blake2b": _digest(data)} for name, data in tables.items()},
        }
        return {**tables, ABOUT_NAME: (json.dumps(about, indent=1) + "\n").encode("ascii")}


def _measure_table(measures: pd.DataFrame | None) -> pa.Table:
    if measures is None or measures.empty:
        return MEASURE_SCHEMA.empty_table()
    table = pa.Table.from_pandas(measures[MEASURE_SCHEMA.names], schema=MEASURE_SCHEMA, preserve_index=False)
    return table.replace_schema_metadata(MEASURE_SCHEMA.metadata)  # pandas adds its own


def _parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def _canonical(event: CellFinished) -> str:
    return json.dumps(dict(event.content), sort_keys=True)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def search_table(searches: pd.DataFrame) -> pa.Table:
    """Return `searches` in the columns and types of ``SEARCH_SCHEMA``, absent numbers as nulls."""
    columns = []
    for field in SEARCH_SCHEMA:
        values: Iterable[Any] = searches[field.name]
        if field.name == "candidates":
            values = [list(candidates) for candidates in values]
        elif field.name == "anytime":
            values = [[{"queries": queries, "loss": loss} for queries, loss in pairs] for pairs in values]
        elif field.name == "figures":
            values = [list(figures.items()) for figures in values]
        # A NaN is an absent number in a plain column; inside a vector it is what the searcher answered.
        columns.append(pa.array(values, type=field.type, from_pandas=not pa.types.is_nested(field.type)))
    return pa.table(columns, schema=SEARCH_SCHEMA)
