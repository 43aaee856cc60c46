"""The record's parquet files as bytes: written so that the same rows give the same bytes, read so that damage shows."""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfbench.errors import RecordError
from cfbench.record.checked import checked_content, checked_info
from cfbench.record.lines import encode_line, pack, scan
from cfbench.record.point_values import is_understood
from cfbench.record.rows import Row, checked_rows
from cfbench.record.schema import MEASURE_SCHEMA, SEARCH_SCHEMA
from cfbench.record.seal import NOT_WHOLE, OPEN, SEAL, is_whole, sealed
from cfbench.registry.events import CellInfo

_ABOUT = b"cfbench_about"
_VERSIONS = (b"cfbench_schema", b"cfbench_protocol")
_TEXTS = ("cell_key", "status", "reason", "model_fingerprint", "metric", "version", "settings")
"""Columns whose values repeat: stored once each."""


class UnreadableTableError(RecordError):
    """A file that is no table of this record: truncated, damaged or foreign."""


@dataclass(frozen=True)
class StoredCell:
    """A finished cell as its file holds it.

    Parameters
    ----------
    info : CellInfo
    content : dict
    eligible : int
    table : Table
        Columns of ``SEARCH_SCHEMA``, sorted by point and repetition.
    """

    info: CellInfo
    content: dict[str, Any]
    eligible: int
    table: pa.Table


def encode_cell(info: CellInfo, content: Mapping[str, Any], eligible: int, rows: Iterable[Row]) -> bytes:
    """Return the file of a cell; the order of `rows` does not matter, one row a (point, repetition) is expected."""
    about = {"info": asdict(info), "content": dict(content), "eligible": eligible}
    return _encode(search_table(rows), about)


def decode_cell(data: bytes, key: str) -> StoredCell:
    """Read a cell's file.

    Raises
    ------
    UnreadableTableError
        If `data` is not the file of the cell `key`, whole and undamaged.
    """
    table, about = _decode(data, SEARCH_SCHEMA)
    try:
        info = checked_info(about["info"])
        cell = StoredCell(info, checked_content(about["content"]), operator.index(about["eligible"]), table)
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableTableError(f"it does not say which cell it holds: {error!r}") from error
    if info.key != key or set(table["cell_key"].unique().to_pylist()) - {key}:
        raise UnreadableTableError(f"it holds cell {info.key}")
    if cell.eligible < 0:
        raise UnreadableTableError(f"it says {cell.eligible} eligible points")
    try:
        checked_rows(rows_of(table))
    except (RecordError, ValueError) as error:  # or what is no UTF-8
        raise UnreadableTableError(str(error)) from error
    return cell


def encode_measures(table: pa.Table, about: Mapping[str, Any]) -> bytes:
    """Return the file of a cell's measures; `about` says what was measured, and from which state of the cell."""
    return _encode(table, about)


def decode_measures(data: bytes, key: str) -> tuple[pa.Table, dict[str, Any]]:
    """Read the file of a cell's measures, and what it says about them.

    Raises
    ------
    UnreadableTableError
        If `data` is not the file of the cell's measures, whole and undamaged.
    """
    table, about = _decode(data, MEASURE_SCHEMA)
    if set(table["cell_key"].unique().to_pylist()) - {key} or not is_understood(about):
        raise UnreadableTableError("it holds the measures of another cell")
    check_measures(table)
    return table, about


def check_measures(table: pa.Table) -> None:
    """Refuse measures that no metric gives.

    Raises
    ------
    UnreadableTableError
        If a search's measure is there twice, or is of a search that cannot be.
    """
    columns = [table[name].to_pylist() for name in ("metric", "version", "settings", "point", "repetition")]
    if len(set(zip(*columns, strict=True))) < len(table):
        raise UnreadableTableError("it holds a measure of a search twice")
    if min((*columns[3], *columns[4]), default=0) < 0:
        raise UnreadableTableError("it holds measures of a point or a repetition below 0")


def search_table(rows: Iterable[Row]) -> pa.Table:
    """Return rows as a table, sorted by point and repetition."""
    ordered = sorted(rows, key=lambda row: (row["point"], row["repetition"]))
    columns = {name: [row[name] for row in ordered] for name in SEARCH_SCHEMA.names}
    columns["anytime"] = [[{"queries": q, "loss": loss} for q, loss in pairs] for pairs in columns["anytime"]]
    columns["figures"] = [list(figures.items()) for figures in columns["figures"]]
    return pa.table([pa.array(columns[field.name], type=field.type) for field in SEARCH_SCHEMA], schema=SEARCH_SCHEMA)


def rows_of(table: pa.Table) -> list[Row]:
    """Return a table's rows in the form of :func:`~cfbench.record.rows.checked_row`."""
    rows: list[Row] = table.to_pylist()
    for row in rows:
        row["anytime"] = [[pair["queries"], pair["loss"]] for pair in row["anytime"]]
        row["figures"] = dict(row["figures"])
    return rows


def _encode(table: pa.Table, about: Mapping[str, Any]) -> bytes:
    line = encode_line(pack(_sorted(about))).decode("ascii")
    metadata = {**table.schema.metadata, _ABOUT: line, "cfbench_seal": SEAL + OPEN}
    sink = io.BytesIO()
    # Every option that touches the bytes is given, so that another default of pyarrow's changes nothing.
    pq.write_table(
        table.replace_schema_metadata(metadata),
        sink,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        use_dictionary=[name for name in table.column_names if name in _TEXTS],
        write_statistics=False,
    )
    return sealed(sink.getvalue())


def _decode(data: bytes, schema: pa.Schema) -> tuple[pa.Table, dict[str, Any]]:
    if not is_whole(data):
        raise UnreadableTableError(NOT_WHOLE)
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        table = file.read(use_threads=False)
        about = json.loads(scan(file.metadata.metadata[_ABOUT]).lines[0].payload)
    except Exception as error:  # whole, and yet pyarrow may raise errors of a dozen kinds: written by something else
        raise UnreadableTableError(f"{type(error).__name__}: {error}") from error
    for version in _VERSIONS:
        if table.schema.metadata.get(version) != schema.metadata[version]:
            raise UnreadableTableError(f"its {version.decode()} is not {schema.metadata[version].decode()}")
    if not table.schema.equals(schema, check_metadata=False) or not isinstance(about, dict):
        raise UnreadableTableError("its columns are not those of the schema")
    return table.replace_schema_metadata(schema.metadata), about


def _sorted(value: Any) -> Any:
    """Sort the keys of mappings at every depth: one content, one text."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    return value
