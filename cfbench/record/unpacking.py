"""Reading a packed record: held against its digests every time, and unpacked into the user's cache once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.caches import cache_folder
from cfbench.errors import RecordError
from cfbench.files import explained
from cfbench.record.checked import checked_content, checked_info
from cfbench.record.layout import PACKED_NAME, checked_key
from cfbench.record.machines import add_machines, machines_in
from cfbench.record.packed import TABLES, VERSIONS, cell_schema, file_digest, text_of
from cfbench.record.record import Record
from cfbench.registry.events import CellInfo
from cfbench.study.protocol import PROTOCOL_VERSION, SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST = 256 * 2**20
"""A file of more bytes is refused before it is read: what is published stays far below."""

COPY = 2
"""Counts what a copy in the cache was checked for and holds: one that an earlier cfbench made is not used."""


def unpacked(folder: Path) -> Path:
    """Return the directory of a record with all that a packed one holds; made in the user's cache when it is not there.

    Raises
    ------
    RecordError
        If the packed record is damaged or of another version.
    UnavailableError
        If the cache cannot be written.
    """
    about, files = _read(folder)
    content = text_of({"copy": COPY, **about}).encode("utf-8", "backslashreplace")
    target = cache_folder("unpacked") / file_digest(content)
    if not target.is_dir():
        with tempfile.TemporaryDirectory(dir=target.parent) as draft:
            with Record.open(Path(draft) / "record", write=True) as record:
                _fill(record, folder, about, files)
            try:
                (Path(draft) / "record").rename(target)
            except OSError:
                if not target.is_dir():  # otherwise another process has made the same meanwhile
                    raise
    return target


def _fill(record: Record, folder: Path, about: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """Put all cells of a packed record into `record`."""
    from cfbench.record.rows import checked_rows
    from cfbench.record.tables import check_measures, rows_of

    of_cells, searches_file, measures_file = (folder / name for name in TABLES)
    tables = _tables(folder, files)
    add_machines(record.path, about["machines"])
    cells = {checked_key(cell["key"]): cell for cell in tables[of_cells.name].to_pylist()}
    if len(cells) < len(tables[of_cells.name]):
        raise RecordError(f"{of_cells} names a cell twice; fetch it anew")
    searches = _by_key(searches_file, tables[searches_file.name], cells)
    measures = _by_key(measures_file, tables[measures_file.name], searches)
    for key, cell in cells.items():
        info, content = _cell(of_cells, key, cell)
        if key in searches:
            try:
                rows = checked_rows(rows_of(searches[key]))
            except (RecordError, ValueError) as error:
                raise RecordError(f"{searches_file} holds of cell {key} what no search gives: {error}") from error
            record.adopt(info, content, cell["eligible"], rows)
            if key in measures:
                try:
                    check_measures(measures[key])
                except RecordError as error:
                    raise RecordError(f"{measures_file} holds of cell {key} what no metric gives: {error}") from error
                record.write_measures(key, measures[key].to_pandas())
        if cell["skipped"]:
            record.skip(info, content, cell["skipped"])
        if cell["failure"]:
            record.fail(info, content, cell["failure"])


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return what `packed.json` says, and the other files, each held against its digest.

    They are read every time, also where a copy is in the cache: what is published is what is vouched for.
    """
    about = _about(folder)
    files = {}
    for name, digest in about["files"].items():
        path = folder / name
        with explained(path, "read"):
            if path.stat().st_size > LARGEST:
                raise RecordError(f"{path} has more than {LARGEST:,} bytes: it is no packed record that cfbench wrote")
            files[name] = path.read_bytes()
        if file_digest(files[name]) != digest:
            raise RecordError(f"{path} is damaged: its digest is not the one in packed.json; fetch it anew")
    return about, files


def _about(folder: Path) -> dict[str, Any]:
    """Return what `packed.json` says, its versions checked."""
    path = folder / PACKED_NAME
    about = None
    with explained(path, "read"):
        text = path.read_bytes()
    try:
        about = json.loads(text)
        versions = {name: about[name] for name in VERSIONS}
        files = {name: str(about["files"][name]) for name in TABLES}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(
            f"{path} is damaged ({type(error).__name__}: {error}); fetch the packed record anew"
        ) from None
    if versions != VERSIONS:
        raise RecordError(
            f"{folder} is a packed record of protocol version {versions['protocol']!r:.20}, schema version "
            f"{versions['schema']!r:.20}; this cfbench has protocol version {PROTOCOL_VERSION}, schema version "
            f"{SCHEMA_VERSION}. Results of different versions are never mixed: read it with the cfbench that wrote it"
        )
    return {**versions, "machines": machines_in(about.get("machines")), "files": files}


def _tables(folder: Path, files: Mapping[str, bytes]) -> dict[str, pa.Table]:
    """Decode the tables, each held against its schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from cfbench.record.schema import MEASURE_SCHEMA, SEARCH_SCHEMA

    schemas = dict(zip(TABLES, (cell_schema(), SEARCH_SCHEMA, MEASURE_SCHEMA), strict=True))
    tables = {}
    for name, data in files.items():
        try:
            tables[name] = pq.read_table(pa.BufferReader(data))
        except pa.ArrowException as error:
            raise RecordError(f"{folder / name} cannot be read ({error}); fetch it anew") from error
        if not tables[name].schema.equals(schemas[name], check_metadata=False):
            raise RecordError(f"{folder / name} has other columns than this cfbench writes; fetch it anew")
    return tables


def _cell(path: Path, key: str, cell: Mapping[str, Any]) -> tuple[CellInfo, dict[str, Any]]:
    """Return the coordinates and the content in a row of `cells.parquet`."""
    try:
        info, content = checked_info(json.loads(cell["info"])), checked_content(json.loads(cell["content"]))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"{path} does not say what cell {key} is: {error!s:.200}; fetch it anew") from error
    if info.key != key or cell["eligible"] < 0:
        raise RecordError(f"{path} says of cell {key} what belongs to another; fetch it anew")
    return info, content


def _by_key(path: Path, table: pa.Table, known: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Cut a table, in which the rows of a key follow each other, into one a key; all keys are `known`."""
    keys = table["cell_key"].to_pylist()
    starts = [i for i, key in enumerate(keys) if i == 0 or keys[i - 1] != key]
    stops = [*starts[1:], len(keys)]
    parts = {keys[start]: table.slice(start, stop - start) for start, stop in zip(starts, stops, strict=False)}
    strangers = sorted(parts.keys() - known.keys())
    if strangers:
        raise RecordError(f"{path} holds rows of cell {strangers[0]:.40}, which has no searches there; fetch it anew")
    if len(parts) < len(starts):
        raise RecordError(f"{path} does not hold the rows of each cell together; fetch it anew")
    return parts
