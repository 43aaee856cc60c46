"""A packed record: a whole record in a few files, small enough to be published with a project's sources.

::

    packed.json          versions, machines, and the digests of the other files
    cells.parquet        a row a cell: coordinates, content, eligible points, why it was skipped or failed
    searches.parquet     all searches, in the columns of the record's tables
    measures.parquet     all measures of finished cells

A cell's own file costs ten kilobytes whatever it holds; a row here costs about two hundred bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.digests import DIGEST_BYTES
from cfbench.errors import RecordError
from cfbench.events import CellInfo
from cfbench.harness.caches import cache_folder
from cfbench.harness.store.checked import checked_content, checked_info
from cfbench.harness.store.disk import explained, write_atomically
from cfbench.harness.store.layout import PACKED_NAME, checked_key
from cfbench.harness.store.machines import add_machines, machines_in, read_machines
from cfbench.harness.store.protocol import PROTOCOL_VERSION, SCHEMA_VERSION
from cfbench.harness.store.record import Record
from cfbench.harness.store.rows import Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = "cfbench packed record"
TABLES = ("cells.parquet", "searches.parquet", "measures.parquet")
LARGEST = 256 * 2**20
"""A file of more bytes is refused before it is read: what is published stays far below."""

_VERSIONS = {"format": FORMAT, "protocol": PROTOCOL_VERSION, "schema": SCHEMA_VERSION}


def pack_record(record: Record, folder: Path, *, bare: Callable[[CellInfo], bool] = lambda _: False) -> None:
    """Write all of a record's cells to `folder`, replacing the packed record there.

    Searches that wait in journals are left out: their cells are not finished. The same cells give the same bytes.

    Parameters
    ----------
    record : Record
    folder : Path
    bare : callable
        Says which cells are packed without the rows of their data set and what was found for them (`x`, `z` and the
        candidates are empty then), because the data may not be passed on.

    Raises
    ------
    RecordError
        If `folder` holds anything but a packed record, or cannot be written.
    """
    import pandas as pd
    import pyarrow as pa

    from cfbench.harness.store.schema import MEASURE_SCHEMA, SEARCH_SCHEMA
    from cfbench.harness.store.tables import search_table

    _check_target(folder)
    cells, searches, measures = [], [SEARCH_SCHEMA.empty_table()], []
    for key, summary in sorted(record.summaries().items()):
        cells.append(
            {
                "key": key,
                "info": _text(asdict(summary.info)),
                "content": _text(summary.content),
                "eligible": summary.eligible,
                "skipped": summary.skipped,
                "failure": summary.failure,
            }
        )
        if summary.searches:
            rows = [_bared(row) if bare(summary.info) else row for row in record.rows(key)]
            searches.append(search_table(rows))
            measures.append(record.measures(key))
    measured = pd.concat(measures) if measures else MEASURE_SCHEMA.empty_table().to_pandas()
    tables = {
        "cells.parquet": pa.Table.from_pylist(cells, schema=_cell_schema()),
        "searches.parquet": pa.concat_tables(searches),
        "measures.parquet": pa.Table.from_pandas(measured, schema=MEASURE_SCHEMA, preserve_index=False),
    }
    files = {name: _encoded(table) for name, table in tables.items()}
    about = {
        **_VERSIONS,
        "machines": read_machines(record.path),
        "files": {name: _digest(data) for name, data in files.items()},
    }
    with explained(folder, "written"):
        for name, data in files.items():
            write_atomically(folder / name, data)
        write_atomically(folder / PACKED_NAME, json.dumps(about, indent=2).encode("ascii") + b"\n")


def _check_target(folder: Path) -> None:
    """Refuse a folder that is in use for something else: a record in it could not grow any more."""
    with explained(folder, "written"):
        strangers = sorted({file.name for file in folder.iterdir()} - {*TABLES, PACKED_NAME}) if folder.exists() else []
    if strangers:
        raise RecordError(
            f"{folder} holds {', '.join(strangers[:3])}{' and more' if len(strangers) > 3 else ''}, which is no packed "
            "record; name a new folder, or that of a packed record, which is then replaced"
        )


def unpacked(folder: Path) -> Path:
    """Return the directory of a record with all that a packed one holds; made in the user's cache when it is not there.

    Raises
    ------
    RecordError
        If the packed record is damaged or of another version.
    UnavailableError
        If the cache cannot be written.
    """
    target = cache_folder("unpacked") / _digest(_text(_about(folder)).encode("utf-8", "backslashreplace"))
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=target.parent) as draft:
            with Record.open(Path(draft) / "record", write=True) as record:
                unpack_record(folder, record)
            try:
                (Path(draft) / "record").rename(target)
            except OSError:
                if not target.is_dir():  # otherwise another process has made the same meanwhile
                    raise
    return target


def unpack_record(folder: Path, record: Record) -> None:
    """Put the cells of a packed record into `record`, which is open for writing and holds none of them.

    Raises
    ------
    RecordError
        If it is damaged, of another version, or not a packed record.
    """
    tables = _tables(folder)
    add_machines(record.path, _about(folder)["machines"])
    searches = _by_key(tables["searches.parquet"])
    measures = _by_key(tables["measures.parquet"])
    for cell in tables["cells.parquet"].to_pylist():
        key = checked_key(cell["key"])
        info, content = _cell(folder, key, cell)
        if key in searches:
            record.adopt(info, content, cell["eligible"], _rows(searches[key]))
            if key in measures:
                frame: pd.DataFrame = measures[key].to_pandas()
                record.write_measures(key, frame)
        if cell["skipped"]:
            record.skip(info, content, cell["skipped"])
        if cell["failure"]:
            record.fail(info, content, cell["failure"])


def _about(folder: Path) -> dict[str, Any]:
    """Return what `packed.json` says, its versions checked."""
    path = folder / PACKED_NAME
    about = None
    with explained(path, "read"):
        text = path.read_bytes()
    try:
        about = json.loads(text)
        versions = {name: about[name] for name in _VERSIONS}
        files = {name: str(about["files"][name]) for name in TABLES}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(
            f"{path} is damaged ({type(error).__name__}: {error}); fetch the packed record anew"
        ) from None
    if versions != _VERSIONS:
        raise RecordError(
            f"{folder} is a packed record of protocol version {versions['protocol']!r:.20}, schema version "
            f"{versions['schema']!r:.20}; this cfbench has protocol version {PROTOCOL_VERSION}, schema version "
            f"{SCHEMA_VERSION}. Results of different versions are never mixed: read it with the cfbench that wrote it"
        )
    return {**versions, "machines": machines_in(about.get("machines")), "files": files}


def _tables(folder: Path) -> dict[str, pa.Table]:
    """Read the tables, each held against its digest and its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cfbench.harness.store.schema import MEASURE_SCHEMA, SEARCH_SCHEMA

    schemas = dict(zip(TABLES, (_cell_schema(), SEARCH_SCHEMA, MEASURE_SCHEMA), strict=True))
    tables = {}
    for name, digest in _about(folder)["files"].items():
        path = folder / name
        with explained(path, "read"):
            if path.stat().st_size > LARGEST:
                raise RecordError(f"{path} has more than {LARGEST:,} bytes: it is no packed record that cfbench wrote")
            data = path.read_bytes()
        if _digest(data) != digest:
            raise RecordError(f"{path} is damaged: its digest is not the one in packed.json; fetch it anew")
        try:
            tables[name] = pq.read_table(pa.BufferReader(data))
        except pa.ArrowException as error:
            raise RecordError(f"{path} cannot be read ({error}); fetch it anew") from error
        if not tables[name].schema.equals(schemas[name], check_metadata=False):
            raise RecordError(f"{path} has other columns than this cfbench writes; fetch it anew")
    return tables


def _cell(folder: Path, key: str, cell: Mapping[str, Any]) -> tuple[CellInfo, dict[str, Any]]:
    """Return the coordinates and the content in a row of `cells.parquet`."""
    try:
        info, content = checked_info(json.loads(cell["info"])), checked_content(json.loads(cell["content"]))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(
            f"{folder / TABLES[0]} does not say what cell {key} is: {error!s:.200}; fetch it anew"
        ) from error
    if info.key != key or cell["eligible"] < 0:
        raise RecordError(f"{folder / TABLES[0]} says of cell {key} what belongs to another; fetch it anew")
    return info, content


def _rows(table: pa.Table) -> Iterator[Row]:
    from cfbench.harness.store.tables import rows_of

    return iter(rows_of(table))


def _by_key(table: pa.Table) -> dict[str, pa.Table]:
    """Cut a table, in which the rows of a key follow each other, into one a key."""
    keys = table["cell_key"].to_pylist()
    starts = [i for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key]
    stops = [*starts[1:], len(keys)] if keys else []
    return {keys[start]: table.slice(start, stop - start) for start, stop in zip(starts, stops, strict=True)}


def _bared(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "x": [], "z": None, "candidates": []}


def _cell_schema() -> pa.Schema:
    import pyarrow as pa

    texts = [pa.field(name, pa.string(), nullable=False) for name in ("key", "info", "content", "skipped", "failure")]
    return pa.schema([*texts[:3], pa.field("eligible", pa.int64(), nullable=False), *texts[3:]])


def _encoded(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), sink, compression="zstd", compression_level=19)
    return sink.getvalue()


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
