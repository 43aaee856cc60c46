"""Packed records: the tables of a record in a few compressed files, small enough to be published with the sources.

::

    packed.json          versions, machines, and the digests of the other files
    cells.parquet        one row per cell, with its summary
    searches.parquet     the finished searches
    measures.parquet     what metrics say about them, one row per (cell, metric)
    preparations.parquet what the preparation of a cell took; only if a searcher prepares something

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.files import write_atomically
from cfbench.record.cells import CELLS, checked_info, mark_of, stored_cell, summarise
from cfbench.record.database import create_tables, temporary_database
from cfbench.record.files import PACKED_NAME, explained, refuse_inside_record
from cfbench.record.measures import MEASURE_COLUMNS
from cfbench.record.reading import RecordReading
from cfbench.record.schema import (
    MACHINES,
    MEASURES,
    PREPARATIONS,
    SCHEMA_VERSION,
    SEARCHES,
    WRONG,
    Row,
    Table,
    checked_rows,
    digest_of_values,
)
from cfbench.registry.events import CellInfo
from cfbench.study.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "cfbench packed record"
FILES = {"cells.parquet": CELLS, "searches.parquet": SEARCHES, "measures.parquet": MEASURES}
OPTIONAL = {"preparations.parquet": PREPARATIONS}
TABLE_OF = FILES | OPTIONAL
LARGEST = 256 * 2**20
"""A file of more bytes is refused before it is read: what is published stays far below."""
PATIENCE = 2.0
"""Seconds of reading after which a terminal is told how far it is."""
_SQL_TYPES = {"TEXT": "string", "INTEGER": "int64", "REAL": "float64", "BLOB": "binary"}
_BATCH = 5_000


def file_digest(data: bytes) -> str:
    """Return the digest by which ``packed.json`` knows a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True)
class Packed:
    """What was packed: the number of cells, and the keys of the cells that cannot be read."""

    cells: int
    left_out: tuple[str, ...]


def pack_record(record: RecordReading, folder: Path, *, bare: Callable[[CellInfo], bool] = lambda _: False) -> Packed:
    """Write all finished cells of a record to `folder`, replacing the packed record there.

    Waiting searches are left out: they are not finished. The same cells give the same bytes. `bare` says which cells
    are packed without the rows of their data set and what was found for them (`x`, `z` and the candidates are empty
    then), because the data may not be passed on.

    RecordError: `folder` holds anything but a packed record, lies in a record, is this very record or cannot be
    written, or the record has no cell.
    """
    if record.is_packed and folder.resolve() == record.path.resolve():
        raise RecordError(f"{folder} is to be packed into itself; name another folder, or a new one")
    refuse_inside_record(folder)
    with explained(folder, "written"):
        others = sorted({file.name for file in folder.iterdir()} - {*TABLE_OF, PACKED_NAME}) if folder.exists() else []
    if others:
        raise RecordError(
            f"{folder} holds {', '.join(others[:3])}{' and more' if len(others) > 3 else ''}, which is no packed "
            "record; name a new folder, or that of a packed record, which is then replaced"
        )
    keys = record.summaries().keys()
    if not (keys or record.problems):
        raise RecordError(
            f"there is nothing to pack in {record.path}: no cell is finished; `cfbench run` finishes some"
        )
    packed: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLE_OF}
    left_out, preparations = [], record.preparations()
    for key in sorted(keys):
        recorded = record.cell_of(key)
        if recorded.cell is None or recorded.finished.keys() != recorded.cell.done.keys():
            left_out.append(key)
            continue
        unseen: dict[str, Any] = {"x": [], "z": None, "candidates": []} if bare(recorded.cell.info) else {}
        stored = [SEARCHES.stored(row | unseen) for row in recorded.finished.values()]
        mark = mark_of(values[-1] for values in stored)
        packed["cells.parquet"].append(stored_cell(replace(recorded.cell, mark=mark)))
        packed["searches.parquet"] += stored
        packed["measures.parquet"] += [
            MEASURES.stored({**row, "mark": mark}) for row in record.measure_rows(recorded.cell)
        ]
        if key in preparations:
            row = dict(zip(PREPARATIONS.columns, (key, *preparations[key]), strict=True))
            packed["preparations.parquet"].append(PREPARATIONS.stored(row))
    files = {name: _encoded(rows, _schema(TABLE_OF[name])) for name, rows in packed.items() if rows or name in FILES}
    about = {
        "format": FORMAT,
        "protocol": PROTOCOL_VERSION,
        "schema": SCHEMA_VERSION,
        "machines": record.machines(),
        "files": {name: file_digest(data) for name, data in files.items()},
    }
    with explained(folder, "written"):
        for name in OPTIONAL.keys() - files.keys():
            (folder / name).unlink(missing_ok=True)
        for name, data in files.items():
            write_atomically(folder / name, data)
        write_atomically(folder / PACKED_NAME, json.dumps(about, indent=2).encode("ascii") + b"\n")
    return Packed(len(packed["cells.parquet"]), tuple(left_out))


def _encoded(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> bytes:
    """Return rows as the database holds them as a parquet file, without their digests."""
    import pyarrow as pa  # slow to load
    import pyarrow.parquet as pq

    columns = list(zip(*rows, strict=True))[:-1] if rows else [()] * len(schema)
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    sink = io.BytesIO()
    # Every option that changes the bytes is given, so that another default of pyarrow's changes nothing.
    pq.write_table(
        pa.table(arrays, schema=schema), sink, version="2.6", data_page_version="1.0", compression="zstd",
        compression_level=19, write_statistics=False,
    )  # fmt: skip
    return sink.getvalue()


def _schema(table: Table) -> pa.Schema:
    import pyarrow as pa  # slow to load

    return pa.schema([(name, _SQL_TYPES[kind.sql.split()[0]]) for name, kind in table.fields.items()])


def read_packed(folder: Path) -> sqlite3.Connection:
    """Return a temporary database with all that a packed record holds, checked against its digests."""
    schema, machines, digests = _about(folder)
    tables = {}
    for name, digest in digests.items():
        path = folder / name
        with explained(path, "read"):
            if path.stat().st_size > LARGEST:
                raise RecordError(f"{path} has more than {LARGEST:,} bytes: it is no packed record that cfbench wrote")
            data = path.read_bytes()
        if file_digest(data) != digest:
            raise RecordError(f"{path} is damaged: its digest is not the one in {PACKED_NAME}; fetch it anew")
        tables[name] = _decoded(path, data, _schema(TABLE_OF[name]) if schema > 1 else None)
    connection = temporary_database()
    create_tables(connection)
    connection.execute("BEGIN")
    connection.executemany(MACHINES.insert, map(MACHINES.stored, machines))
    known: set[str] = set()
    for name, rows in (_rows if schema > 1 else _rows_of_version_1)(folder, tables):
        keys = {row[0] for row in rows}
        known |= keys if TABLE_OF[name] is CELLS else set()
        if keys - known:
            raise RecordError(f"{folder / name} holds rows of cell {min(keys - known):.40}, which is not there")
        try:
            connection.executemany(TABLE_OF[name].insert.replace(" OR REPLACE", ""), rows)
        except (sqlite3.Error, OverflowError) as error:
            raise RecordError(f"{folder / name} holds what no record holds ({error}); fetch it anew") from error
    connection.execute("COMMIT")
    return connection


def _about(folder: Path) -> tuple[int, list[Row], dict[str, str]]:
    """Return the version of a packed record's tables, its machines, and the digests of its files."""
    path = folder / PACKED_NAME
    with explained(path, "read"):
        text = path.read_bytes()
    try:
        about = json.loads(text)
        form, protocol, schema = (about[name] for name in ("format", "protocol", "schema"))
        files = {name: str(about["files"][name]) for name in TABLE_OF if name in FILES or name in about["files"]}
        machines = [MACHINES.checked({"description": one}) for one in about.get("machines", ())]
    except (*WRONG, AttributeError, RecordError) as error:
        raise RecordError(
            f"{path} is damaged ({type(error).__name__}: {error!s:.200}); fetch the packed record anew"
        ) from None
    if (form, protocol) != (FORMAT, PROTOCOL_VERSION) or schema not in (1, SCHEMA_VERSION):
        raise RecordError(
            f"{folder} is a packed record of protocol version {protocol!r:.20}, schema version {schema!r:.20}; this "
            f"cfbench has protocol version {PROTOCOL_VERSION}, schema version {SCHEMA_VERSION}. Results of different "
            "versions are never mixed: read it with the cfbench that wrote it"
        )
    return schema, machines, files


def _decoded(path: Path, data: bytes, schema: pa.Schema | None) -> pa.Table:
    """Return the table in a file, checked against its schema."""
    import pyarrow as pa  # slow to load
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"{path} cannot be read ({error}); fetch it anew") from error
    if schema is not None and not table.schema.equals(schema):
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


def _rows_of_version_1(folder: Path, tables: Mapping[str, pa.Table]) -> Batches:
    """Yield the rows of a packed record of version 1, each cell summarised from its searches."""
    cells, searches, measures = tables.values()
    of_cells: dict[str, list[Row]] = {}
    marks, done, key = {}, {}, "of its tables"
    try:
        for row in searches.to_pylist():
            of_cells.setdefault(row["cell_key"], []).append(row)
        for cell in _shown(folder, cells.to_pylist()):
            key = cell["key"]
            info = checked_info(json.loads(cell["info"]))
            if info.key != key:
                raise RecordError(f"its coordinates are those of cell {info.key:.40}")
            rows = checked_rows(of_cells.pop(key, []))
            one = summarise(info, json.loads(cell["content"]), cell["eligible"], rows)
            one = replace(one, skipped=cell["skipped"], failure=cell["failure"])
            marks[key], done[key] = one.mark, [*one.done]
            yield "cells.parquet", [stored_cell(one)]
            yield "searches.parquet", [SEARCHES.stored(row) for row in rows]
        if of_cells:
            yield "searches.parquet", [(key,) for key in of_cells]  # of no cell, which is refused
        columns = [measures[name].to_pylist() for name in MEASURE_COLUMNS]
        for (key, *metric), measured in groupby(zip(*columns, strict=True), key=lambda row: row[:4]):
            *_, points, repetitions, values = zip(*measured, strict=True)
            # What was measured before a cell had all its searches is left out.
            if key not in done or [*zip(points, repetitions, strict=True)] == done[key]:
                numbers = [math.nan if value is None else value for value in values]
                row = dict(zip(MEASURES.columns, (key, *metric, marks.get(key, ""), numbers), strict=True))
                yield "measures.parquet", [MEASURES.stored(row)]
    except (*WRONG, RecordError) as error:
        raise RecordError(f"{folder}: cell {key} holds what no cell can: {error!s:.200}; fetch it anew") from error
