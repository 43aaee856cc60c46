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
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cfbench.digests import DIGEST_BYTES
from cfbench.errors import RecordError
from cfbench.files import explained, write_atomically
from cfbench.record.layout import PACKED_NAME, refuse_inside_record
from cfbench.record.machines import read_machines
from cfbench.record.record import Record
from cfbench.registry.events import CellInfo
from cfbench.study.protocol import PROTOCOL_VERSION, SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "cfbench packed record"
TABLES = ("cells.parquet", "searches.parquet", "measures.parquet")
VERSIONS = {"format": FORMAT, "protocol": PROTOCOL_VERSION, "schema": SCHEMA_VERSION}


@dataclass(frozen=True)
class Packed:
    """What was packed.

    Parameters
    ----------
    cells : int
    left_out : tuple of str
        Keys of the cells whose tables cannot be read; `problems` of the record says why.
    """

    cells: int
    left_out: tuple[str, ...]


def pack_record(record: Record, folder: Path, *, bare: Callable[[CellInfo], bool] = lambda _: False) -> Packed:
    """Write all of a record's cells to `folder`, replacing the packed record there.

    Searches that wait in journals are left out: they are not finished. The same cells give the same bytes.

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
        If `folder` holds anything but a packed record, lies in a record, is this very record or cannot be written; if
        the record has no cell.
    """
    import pandas as pd
    import pyarrow as pa

    from cfbench.record.schema import MEASURE_SCHEMA, SEARCH_SCHEMA
    from cfbench.record.tables import rows_of, search_table

    _check_target(folder, record)
    cells, searches, measures = [], [SEARCH_SCHEMA.empty_table()], []
    summaries = record.summaries()
    if not (summaries or record.problems):
        raise RecordError(
            f"there is nothing to pack in {record.origin}: no cell is finished; `cfbench run` finishes some"
        )
    for key, summary in sorted(summaries.items()):
        stored = record.held(key).stored
        if stored is None and summary.searches:
            continue  # the record reports what is wrong with its table
        about = summary if stored is None else stored
        cells.append(
            {
                "key": key,
                "info": text_of(asdict(about.info)),
                "content": text_of(about.content),
                "eligible": about.eligible,
                "skipped": summary.skipped,
                "failure": summary.failure,
            }
        )
        if stored is not None:
            rows = rows_of(stored.table)
            searches.append(search_table([_bared(row) for row in rows] if bare(about.info) else rows))
            measures.append(record.measures(key))
    measured = pd.concat(measures) if measures else MEASURE_SCHEMA.empty_table().to_pandas()
    tables = {
        "cells.parquet": pa.Table.from_pylist(cells, schema=cell_schema()),
        "searches.parquet": pa.concat_tables(searches),
        "measures.parquet": pa.Table.from_pandas(measured, schema=MEASURE_SCHEMA, preserve_index=False),
    }
    files = {name: _encoded(table) for name, table in tables.items()}
    said = {
        **VERSIONS,
        "machines": read_machines(record.path),
        "files": {name: file_digest(data) for name, data in files.items()},
    }
    with explained(folder, "written"):
        for name, data in files.items():
            write_atomically(folder / name, data)
        write_atomically(folder / PACKED_NAME, json.dumps(said, indent=2).encode("ascii") + b"\n")
    return Packed(len(cells), tuple(sorted(record.keys() - {cell["key"] for cell in cells})))


def _check_target(folder: Path, record: Record) -> None:
    """Refuse a folder that is in use for something else: a record in it could not grow any more."""
    refuse_inside_record(folder)
    if record.is_packed and folder.resolve() == record.origin.resolve():
        raise RecordError(f"{folder} is to be packed into itself; name another folder, or a new one")
    with explained(folder, "written"):
        strangers = sorted({file.name for file in folder.iterdir()} - {*TABLES, PACKED_NAME}) if folder.exists() else []
    if strangers:
        raise RecordError(
            f"{folder} holds {', '.join(strangers[:3])}{' and more' if len(strangers) > 3 else ''}, which is no packed "
            "record; name a new folder, or that of a packed record, which is then replaced"
        )


def _bared(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "x": [], "z": None, "candidates": []}


def cell_schema() -> pa.Schema:
    """Return the columns of `cells.parquet`."""
    import pyarrow as pa

    texts = [pa.field(name, pa.string(), nullable=False) for name in ("key", "info", "content", "skipped", "failure")]
    return pa.schema([*texts[:3], pa.field("eligible", pa.int64(), nullable=False), *texts[3:]])


def _encoded(table: pa.Table) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), sink, compression="zstd", compression_level=19)
    return sink.getvalue()


def file_digest(data: bytes) -> str:
    """Return the digest by which `packed.json` knows a file."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()


def text_of(value: Any) -> str:
    """Return JSON-like content as text: one content, one text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
