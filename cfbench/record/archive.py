"""Packed records: the tables of a record in a few compressed files, small enough to be published with the sources.

::

    packed.json          versions, machines, and the digests of the other files
    cells.parquet        one row per cell, with its summary
    searches.parquet     the finished searches
    measures.parquet     what metrics say about them, one row per (cell, metric)

A packed record is read into a temporary database. Version 1 had other columns: no summaries, and one row per measure.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.files import write_atomically
from cfbench.record.cells import CELLS, checked_content, checked_info, stored_cell, summarise
from cfbench.record.database import create_tables, temporary_database
from cfbench.record.files import PACKED_NAME, explained, refuse_inside_record
from cfbench.record.reading import machines_in
from cfbench.record.schema import (
    MACHINES,
    MEASURES,
    SCHEMA_VERSION,
    SEARCHES,
    WRONG,
    Row,
    Table,
    checked_rows,
    digest_of_values,
)
from cfbench.study.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "cfbench packed record"
FILES = {"cells.parquet": CELLS, "searches.parquet": SEARCHES, "measures.parquet": MEASURES}
LARGEST = 256 * 2**20
"""A file of more bytes is refused before it is read: what is published stays far below."""
PATIENCE = 2.0
"""Seconds of reading after which a terminal is told how far it is."""
_SQL_TYPES = {"TEXT": "string", "INTEGER": "int64", "REAL": "float64", "BLOB": "binary"}
_BATCH = 5_000


def file_digest(data: bytes) -> str:
    """Return the digest by which ``packed.json`` knows a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# ---------------------------------------------------------------- packing


def check_target(folder: Path) -> None:
    """Raise RecordError if `folder` lies in a record, or holds anything but a packed record, which is replaced."""
    refuse_inside_record(folder)
    with explained(folder, "written"):
        others = sorted({file.name for file in folder.iterdir()} - {*FILES, PACKED_NAME}) if folder.exists() else []
    if others:
        raise RecordError(
            f"{folder} holds {', '.join(others[:3])}{' and more' if len(others) > 3 else ''}, which is no packed "
            "record; name a new folder, or that of a packed record, which is then replaced"
        )


def write_packed(folder: Path, rows: Mapping[str, Sequence[tuple[Any, ...]]], machines: Sequence[Any]) -> None:
    """Write a packed record; the same rows give the same bytes.

    Parameters
    ----------
    folder : Path
    rows : mapping of str to sequence of tuple
        For each of `FILES`, rows as the database holds them, digests included; those are left out.
    machines : sequence of dict
    """
    import pyarrow as pa  # slow to load
    import pyarrow.parquet as pq

    files = {}
    for name, table in FILES.items():
        columns = list(zip(*rows[name], strict=True))[:-1] if rows[name] else [()] * len(table.columns)
        arrays = [pa.array(values, type=field.type) for values, field in zip(columns, _schema(table), strict=True)]
        sink = io.BytesIO()
        # Every option that changes the bytes is given, so that another default of pyarrow's changes nothing.
        pq.write_table(
            pa.table(arrays, schema=_schema(table)), sink, version="2.6", data_page_version="1.0", compression="zstd",
            compression_level=19, write_statistics=False,
        )  # fmt: skip
        files[name] = sink.getvalue()
    said = {
        "format": FORMAT,
        "protocol": PROTOCOL_VERSION,
        "schema": SCHEMA_VERSION,
        "machines": machines,
        "files": {name: file_digest(data) for name, data in files.items()},
    }
    with explained(folder, "written"):
        for name, data in files.items():
            write_atomically(folder / name, data)
        write_atomically(folder / PACKED_NAME, json.dumps(said, indent=2).encode("ascii") + b"\n")


def _schema(table: Table) -> pa.Schema:
    import pyarrow as pa  # slow to load

    return pa.schema([(name, _SQL_TYPES[kind.sql.split()[0]]) for name, kind in table.fields.items()])


# ---------------------------------------------------------------- reading


def read_packed(folder: Path) -> sqlite3.Connection:
    """Return a temporary database with all that a packed record holds, checked against its digests.

    Raises
    ------
    RecordError
        If the packed record is damaged or of another version.
    """
    about = _about(folder)
    of_version_1 = about["schema"] == 1
    tables = {}
    for name, digest in about["files"].items():
        path = folder / name
        with explained(path, "read"):
            if path.stat().st_size > LARGEST:
                raise RecordError(f"{path} has more than {LARGEST:,} bytes: it is no packed record that cfbench wrote")
            data = path.read_bytes()
        if file_digest(data) != digest:
            raise RecordError(f"{path} is damaged: its digest is not the one in {PACKED_NAME}; fetch it anew")
        tables[name] = _decoded(path, data, _schema_of_version_1(name) if of_version_1 else _schema(FILES[name]))
    connection = temporary_database()
    create_tables(connection)
    connection.execute("BEGIN")
    connection.executemany(MACHINES.insert, [MACHINES.stored({"description": one}) for one in about["machines"]])
    known: set[str] = set()
    for name, rows in (_rows_of_version_1 if of_version_1 else _rows)(folder, tables):
        keys = {row[0] for row in rows}
        known |= keys if FILES[name] is CELLS else set()
        if keys - known:
            raise RecordError(f"{folder / name} holds rows of cell {min(keys - known):.40}, which is not there")
        try:
            connection.executemany(FILES[name].insert.replace(" OR REPLACE", ""), rows)
        except (sqlite3.Error, OverflowError) as error:
            raise RecordError(f"{folder / name} holds what no record holds ({error}); fetch it anew") from error
    connection.execute("COMMIT")
    return connection


def _about(folder: Path) -> dict[str, Any]:
    path = folder / PACKED_NAME
    with explained(path, "read"):
        text = path.read_bytes()
    try:
        about = json.loads(text)
        found = {name: about[name] for name in ("format", "protocol", "schema")}
        files = {name: str(about["files"][name]) for name in FILES}
    except WRONG as error:
        raise RecordError(
            f"{path} is damaged ({type(error).__name__}: {error}); fetch the packed record anew"
        ) from None
    if found["format"] != FORMAT or found["protocol"] != PROTOCOL_VERSION or found["schema"] not in (1, SCHEMA_VERSION):
        raise RecordError(
            f"{folder} is a packed record of protocol version {found['protocol']!r:.20}, schema version "
            f"{found['schema']!r:.20}; this cfbench has protocol version {PROTOCOL_VERSION}, schema version "
            f"{SCHEMA_VERSION}. Results of different versions are never mixed: read it with the cfbench that wrote it"
        )
    return {**found, "machines": machines_in(about.get("machines")), "files": files}


def _decoded(path: Path, data: bytes, schema: pa.Schema) -> pa.Table:
    """Return the table in a file, checked against its schema."""
    import pyarrow as pa  # slow to load
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{path} cannot be read ({error}); fetch it anew") from error
    if [(one.name, one.type) for one in table.schema] != [(one.name, one.type) for one in schema]:
        raise RecordError(f"{path} has other columns than this cfbench writes; fetch it anew")
    return table


Batches = Iterator[tuple[str, list[tuple[Any, ...]]]]
"""Rows to insert, with the name of their file."""


def _rows(folder: Path, tables: Mapping[str, pa.Table]) -> Batches:
    """Yield the rows of all files as they are: each is checked when it is read."""
    for name, table in tables.items():
        for batch in _shown(folder, table.to_batches(max_chunksize=_BATCH)):
            columns = [column.to_pylist() for column in batch.columns]
            yield name, [(*values, digest_of_values(values)) for values in zip(*columns, strict=True)]


def _shown(folder: Path, parts: Sequence[Any]) -> Iterator[Any]:
    """Yield parts of what is read, and tell a terminal how far the reading is if it takes long."""
    start, told = time.monotonic(), False
    for number, part in enumerate(parts, start=1):
        yield part
        if time.monotonic() - start > PATIENCE and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Kreading the packed record {folder}: {100 * number // len(parts)} %")
            told = True
    if told:
        sys.stderr.write("\r\x1b[K")


# ---------------------------------------------------------------- version 1


def _schema_of_version_1(name: str) -> pa.Schema:
    import pyarrow as pa  # slow to load

    from cfbench.record.frames import MEASURE_SCHEMA, SEARCH_SCHEMA  # loads pyarrow and pandas

    texts = ("key", "info", "content", "eligible", "skipped", "failure")
    cells = pa.schema([(one, pa.int64() if one == "eligible" else pa.string()) for one in texts])
    return {"cells.parquet": cells, "searches.parquet": SEARCH_SCHEMA, "measures.parquet": MEASURE_SCHEMA}[name]


def _rows_of_version_1(folder: Path, tables: Mapping[str, pa.Table]) -> Batches:
    """Yield the rows of a packed record of version 1, each cell summarised from its searches."""
    from cfbench.record.frames import rows_of  # loads pandas

    cells, searches, measures = tables.values()
    of_cells: dict[str, list[Row]] = {}
    for row in rows_of(searches):
        of_cells.setdefault(row["cell_key"], []).append(row)
    marks, done = {}, {}
    for cell in _shown(folder, cells.to_pylist()):
        key = cell["key"]
        try:
            info, content = checked_info(json.loads(cell["info"])), checked_content(json.loads(cell["content"]))
            rows = checked_rows(of_cells.pop(key, []))
            one = summarise(info, content, cell["eligible"], rows)
            one = replace(one, skipped=cell["skipped"], failure=cell["failure"])
            stored = stored_cell(one)
        except (*WRONG, RecordError) as error:
            raise RecordError(f"{folder}: cell {key} holds what no cell can: {error!s:.200}; fetch it anew") from error
        if info.key != key:
            raise RecordError(f"{folder} says of cell {key} what belongs to another; fetch it anew")
        marks[key], done[key] = one.mark, [*one.done]
        yield "cells.parquet", [stored]
        yield "searches.parquet", [SEARCHES.stored(row) for row in rows]
    if of_cells:
        yield "searches.parquet", [(key,) for key in of_cells]  # of no cell, which is refused
    columns = [measures[name].to_pylist() for name in measures.schema.names]
    for ids, measured in groupby(zip(*columns, strict=True), key=lambda row: row[:4]):
        *_, points, repetitions, values = zip(*measured, strict=True)
        key = ids[0]
        # What was measured before a cell had all its searches is left out.
        if key not in done or [*zip(points, repetitions, strict=True)] == done[key]:
            numbers = [math.nan if value is None else value for value in values]
            row = dict(zip(MEASURES.columns, (*ids, marks.get(key, ""), numbers), strict=True))
            yield "measures.parquet", [MEASURES.stored(row)]
