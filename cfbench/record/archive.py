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
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.errors import RecordError
from cfbench.record.cells import StoredCell, checked_content, checked_info, runs_of, summarise
from cfbench.record.database import create_tables, readable
from cfbench.record.files import PACKED_NAME, explained, refuse_inside_record, write_atomically
from cfbench.record.schema import (
    CELLS,
    MACHINES,
    MEASURES,
    SCHEMA_VERSION,
    SEARCHES,
    Row,
    Table,
    checked_key,
    checked_rows,
)
from cfbench.study.protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "cfbench packed record"
FILES = {"cells.parquet": CELLS, "searches.parquet": SEARCHES, "measures.parquet": MEASURES}
LARGEST = 256 * 2**20
"""A file of more bytes is refused before it is read: what is published stays far below."""
MOST_MACHINES = 100
PATIENCE = 2.0
"""Seconds of reading after which a terminal is told how far it is."""
_SQL_TYPES = {"TEXT": "string", "INTEGER": "int64", "REAL": "float64", "BLOB": "binary"}
_BATCH = 5_000


def mark_of(digests: Iterable[bytes]) -> str:
    """Return the mark of a cell's finished searches from the digests of their rows, in order; empty without any."""
    data = b"".join(digests)
    return hashlib.blake2b(data, digest_size=16).hexdigest() if data else ""


def file_digest(data: bytes) -> str:
    """Return the digest by which ``packed.json`` knows a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def machines_in(listed: object) -> list[dict[str, str]]:
    """Return what is a list of machines in JSON-like content from elsewhere."""
    machines = [one for one in (listed if isinstance(listed, list) else []) if isinstance(one, Mapping)]
    return [{_shown(key): _shown(value) for key, value in one.items()} for one in machines][:MOST_MACHINES]


def _shown(value: object) -> str:
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


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
    about, files = _read(folder)
    connection = readable(sqlite3.connect("", isolation_level=None, check_same_thread=False))  # "": a temporary file
    # Nothing of it outlives this process: no journal, and no waiting for the disk.
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    create_tables(connection)
    connection.execute("BEGIN")
    connection.executemany(MACHINES.insert, [MACHINES.stored({"description": one}) for one in about["machines"]])
    fill = _fill if about["schema"] == SCHEMA_VERSION else _fill_from_version_1
    fill(connection, folder, files)
    connection.execute("COMMIT")
    return connection


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what ``packed.json`` says, and the other files, each checked against its digest."""
    about = _about(folder)
    files = {}
    for name, digest in about["files"].items():
        path = folder / name
        with explained(path, "read"):
            if path.stat().st_size > LARGEST:
                raise RecordError(f"{path} has more than {LARGEST:,} bytes: it is no packed record that cfbench wrote")
            files[name] = path.read_bytes()
        if file_digest(files[name]) != digest:
            raise RecordError(f"{path} is damaged: its digest is not the one in {PACKED_NAME}; fetch it anew")
    return about, files


def _about(folder: Path) -> dict[str, Any]:
    path = folder / PACKED_NAME
    with explained(path, "read"):
        text = path.read_bytes()
    try:
        about = json.loads(text)
        found = {name: about[name] for name in ("format", "protocol", "schema")}
        files = {name: str(about["files"][name]) for name in FILES}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
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


def _fill(connection: sqlite3.Connection, folder: Path, files: Mapping[str, bytes]) -> None:
    """Insert the rows of all files as they are: each is checked when it is read."""
    known: set[str] = set()
    for name, table in FILES.items():
        path = folder / name
        decoded = _decoded(path, files[name], _schema(table))
        for batch in _shown_batches(folder, decoded.to_batches(max_chunksize=_BATCH), len(decoded)):
            columns = [column.to_pylist() for column in batch.columns]
            keys = set(columns[0])
            known |= keys if table is CELLS else set()
            _refuse_strangers(path, keys - known)
            try:
                connection.executemany(
                    table.insert.replace(" OR REPLACE", ""), zip(*columns, [b""] * len(batch), strict=True)
                )
            except (sqlite3.Error, OverflowError) as error:
                raise RecordError(f"{path} holds what no record holds ({error}); fetch it anew") from error


def _refuse_strangers(path: Path, keys: set[str]) -> None:
    if keys:
        raise RecordError(f"{path} holds rows of cell {min(keys):.40}, which has no searches there; fetch it anew")


def _shown_batches(folder: Path, batches: Sequence[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield batches, and tell a terminal how far the reading is where it takes long."""
    start, done, told = time.monotonic(), 0, False
    for batch in batches:
        yield batch
        done += len(batch)
        if time.monotonic() - start > PATIENCE and sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[Kreading the packed record {folder}: {100 * done // max(rows, 1)} %")
            told = True
    if told:
        sys.stderr.write("\r\x1b[K")


# ---------------------------------------------------------------- version 1


def _fill_from_version_1(connection: sqlite3.Connection, folder: Path, files: Mapping[str, bytes]) -> None:
    """Insert the cells of a packed record of version 1, each summarised from its searches."""
    from cfbench.record.frames import MEASURE_SCHEMA, SEARCH_SCHEMA, rows_of  # loads pyarrow and pandas

    of_cells, of_searches, of_measures = (folder / name for name in FILES)
    cells = _decoded(of_cells, files[of_cells.name], _cells_of_version_1())
    searches = _decoded(of_searches, files[of_searches.name], SEARCH_SCHEMA)
    measures = _decoded(of_measures, files[of_measures.name], MEASURE_SCHEMA)
    stretches = {path: _stretches(path, table) for path, table in ((of_searches, searches), (of_measures, measures))}
    listed = [checked_key(key) for key in cells["key"].to_pylist()]
    if len(set(listed)) < len(listed):
        raise RecordError(f"{of_cells} names a cell twice; fetch it anew")
    _refuse_strangers(of_searches, stretches[of_searches].keys() - set(listed))
    _refuse_strangers(of_measures, stretches[of_measures].keys() - stretches[of_searches].keys())
    rows = rows_of(searches)
    found: dict[str, StoredCell] = {}
    for batch in _shown_batches(folder, cells.to_batches(max_chunksize=100), len(cells)):
        for cell in batch.to_pylist():
            key = cell["key"]
            start, stop = stretches[of_searches].get(key, (0, 0))
            try:
                checked = checked_rows(rows[start:stop])
            except (RecordError, ValueError) as error:
                raise RecordError(f"{of_searches} holds of cell {key} what no search gives: {error}") from error
            stored = [SEARCHES.stored(row) for row in checked]
            found[key] = one = _cell_of_version_1(of_cells, cell, checked, mark_of(values[-1] for values in stored))
            connection.execute(CELLS.insert, one.stored())
            connection.executemany(SEARCHES.insert, stored)
    connection.executemany(MEASURES.insert, _measures_of_version_1(of_measures, measures, found))


def _cells_of_version_1() -> pa.Schema:
    import pyarrow as pa  # slow to load

    names = ("key", "info", "content", "eligible", "skipped", "failure")
    return pa.schema([(name, pa.int64() if name == "eligible" else pa.string()) for name in names])


def _cell_of_version_1(path: Path, cell: Mapping[str, Any], rows: list[Row], mark: str) -> StoredCell:
    key = cell["key"]
    try:
        info, content = checked_info(json.loads(cell["info"])), checked_content(json.loads(cell["content"]))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} does not say what cell {key} is: {error!s:.200}; fetch it anew") from error
    if info.key != key or cell["eligible"] < 0:
        raise RecordError(f"{path} says of cell {key} what belongs to another; fetch it anew")
    summary = summarise(info, content, cell["eligible"], rows)
    summary = replace(summary, skipped=cell["skipped"], failure=cell["failure"])
    runs = runs_of({(row["point"], row["repetition"]): row["status"] for row in rows})
    return StoredCell(summary, mark, runs)


def _measures_of_version_1(path: Path, table: pa.Table, cells: Mapping[str, StoredCell]) -> Iterator[tuple[Any, ...]]:
    """Yield a row per cell and metric; what was measured before a cell had all its searches is left out."""
    import numpy as np  # slow to load

    texts = [table[name].combine_chunks().dictionary_encode() for name in ("cell_key", "metric", "version", "settings")]
    codes = np.array([column.indices.to_numpy() for column in texts])
    names = [column.dictionary.to_pylist() for column in texts]
    places = np.array([table[name].to_numpy() for name in ("point", "repetition")])
    values = table["value"].to_numpy().astype("<f8")
    changes = np.flatnonzero((codes[:, 1:] != codes[:, :-1]).any(axis=0)) + 1
    starts = np.array([0, *changes] if codes.shape[1] else [], dtype=np.intp)
    stops = [*changes.tolist(), codes.shape[1]]
    ids = [tuple(of[code] for of, code in zip(names, where, strict=True)) for where in codes[:, starts].T.tolist()]
    done = {key: np.array([*cells[key].done]).T for key in {key for key, *_ in ids}}
    # What each stretch would hold if it were of all finished searches, compared at once.
    sizes = [stop - start for start, stop in zip(starts.tolist(), stops, strict=True)] if ids else []
    whole = [
        done[key] if done[key].shape[1] == n else np.full((2, n), -1) for (key, *_), n in zip(ids, sizes, strict=True)
    ]
    fits = np.logical_and.reduceat((np.hstack(whole) == places).all(axis=0), starts).tolist() if ids else []
    if len(set(ids)) < len(ids):
        raise RecordError(f"{path} holds of a cell what no metric gives: a measure of a search twice")
    for (key, *metric), start, n, is_whole in zip(ids, starts.tolist(), sizes, fits, strict=True):
        if is_whole:
            yield key, *metric, cells[key].mark, values[start : start + n].tobytes(), b""
        elif n >= done[key].shape[1]:
            raise RecordError(
                f"{path} holds of cell {key} what no metric gives: a measure of a search twice, or of a search that "
                "is not there"
            )


def _stretches(path: Path, table: pa.Table) -> dict[str, tuple[int, int]]:
    """Return where the rows of each key begin and end; they follow each other."""
    keys = table["cell_key"].to_pylist()
    starts = [i for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key]
    found = {keys[start]: (start, stop) for start, stop in pairwise([*starts, len(keys)])}
    if len(found) < len(starts):
        raise RecordError(f"{path} does not hold the rows of each cell together; fetch it anew")
    return found
