"""A finished cell as a tracking store keeps it, read with distrust: whoever may write to the store may have written it.

Only JSON and parquet are read. Nothing is unpickled or run, sizes are known before anything is unpacked, and the cell's
key has to be the digest of what the cell says of itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from cfbench.digests import DIGEST_BYTES
from cfbench.errors import RecordError
from cfbench.events import CellInfo
from cfbench.harness.store.checked import checked_info
from cfbench.harness.store.coordinates import objection_to
from cfbench.harness.store.layout import checked_key
from cfbench.harness.store.rows import Row, checked_rows
from cfbench.harness.store.schema import MEASURE_SCHEMA, PROTOCOL_VERSION, SEARCH_SCHEMA
from cfbench.harness.store.tables import rows_of

if TYPE_CHECKING:
    import pandas as pd

ABOUT_NAME, SEARCHES_NAME, MEASURES_NAME = "cell.json", "searches.parquet", "measures.parquet"
LAYOUT = 1
MOST_ABOUT = 2**20
MOST_TABLE = 256 * 2**20
_MOST_VALUES = 100_000_000
"""Values of a table's columns, lists taken apart: 800 MB of numbers."""

FileOf = Callable[[str, int], bytes]
"""Returns the file of a name, of at most so many bytes."""


class UnfitCellError(RecordError):
    """A cell of a tracking store that cannot be taken over, and why."""


@dataclass(frozen=True, eq=False)
class FetchedCell:
    """A cell, checked.

    Parameters
    ----------
    info : CellInfo
    content : dict
        All that the key is a digest of.
    eligible : int
    rows : list of dict
        One a search, in the record's form.
    measures : DataFrame
        Columns of ``MEASURE_SCHEMA``: of metrics that were measured on all of the searches.
    """

    info: CellInfo
    content: dict[str, Any]
    eligible: int
    rows: list[Row]
    measures: pd.DataFrame


def fetched_cell(key: str, file_of: FileOf) -> FetchedCell:
    """Read the cell `key` from its files.

    Parameters
    ----------
    key : str
    file_of : callable
        Returns a file; its errors pass through.

    Raises
    ------
    UnfitCellError
        If the files are not those of this cell, whole, in this version's layout.
    """
    about = _about(file_of(ABOUT_NAME, MOST_ABOUT))
    try:
        info = checked_info(about["cell"])
        content, eligible, named = dict(about["content"]), int(about["eligible"]), dict(about["files"])
    except (KeyError, TypeError, ValueError) as error:
        raise UnfitCellError(f"its {ABOUT_NAME} does not say which cell it holds: {error!r:.200}") from error
    _check(key, info, content)
    rows = _rows(key, _table(SEARCHES_NAME, named, file_of, SEARCH_SCHEMA))
    measures = MEASURE_SCHEMA.empty_table()
    if MEASURES_NAME in named:
        measures = _table(MEASURES_NAME, named, file_of, MEASURE_SCHEMA)
    if set(measures["cell_key"].unique().to_pylist()) - {key}:
        raise UnfitCellError(f"its {MEASURES_NAME} holds the measures of another cell")
    return FetchedCell(info, content, eligible, rows, _complete(measures, rows))


def _about(data: bytes) -> dict[str, Any]:
    try:
        about = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnfitCellError(f"its {ABOUT_NAME} is no JSON: {error}") from error
    if not isinstance(about, dict) or about.get("layout") != LAYOUT:
        layout = about.get("layout") if isinstance(about, dict) else None
        raise UnfitCellError(f"its {ABOUT_NAME} has layout {layout!r:.20}, this cfbench reads layout {LAYOUT}")
    return about


def _check(key: str, info: CellInfo, content: Mapping[str, Any]) -> None:
    """Hold a cell's coordinates against what its key is a digest of."""
    if content.get("protocol") != PROTOCOL_VERSION:
        raise UnfitCellError(
            f"it follows protocol version {content.get('protocol')!r:.20}, this cfbench version {PROTOCOL_VERSION}"
        )
    objection = objection_to(checked_key(key), info, content)
    if objection:
        raise UnfitCellError(objection)


def _table(name: str, named: Mapping[str, Any], file_of: FileOf, schema: pa.Schema) -> pa.Table:
    data = file_of(name, MOST_TABLE)
    if not isinstance(named.get(name), dict) or named[name].get("blake2b") != _digest(data):
        raise UnfitCellError(f"its {name} is not the file that its {ABOUT_NAME} names: cut off, damaged or replaced")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        if not file.schema_arrow.equals(schema, check_metadata=False):
            raise UnfitCellError(f"its {name} has other columns than this cfbench's")
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        values = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
        if values > _MOST_VALUES:
            raise UnfitCellError(f"its {name} unpacks to {values:,} values")
        return file.read(use_threads=False).replace_schema_metadata(schema.metadata)
    except UnfitCellError:
        raise
    except Exception as error:  # pyarrow raises errors of a dozen kinds for what is no parquet file
        raise UnfitCellError(f"its {name} cannot be read: {type(error).__name__}: {error!s:.200}") from error


def _rows(key: str, table: pa.Table) -> list[Row]:
    try:
        rows = checked_rows(rows_of(table))
    except RecordError as error:
        raise UnfitCellError(f"its {SEARCHES_NAME} holds what no search writes: {error}") from error
    if {row["cell_key"] for row in rows} != {key}:
        raise UnfitCellError(f"its {SEARCHES_NAME} holds the searches of another cell, or none")
    return rows


def _complete(measures: pa.Table, rows: list[Row]) -> pd.DataFrame:
    """Leave out what was measured before the cell had all its searches."""
    frame: pd.DataFrame = measures.to_pandas()
    searches = {(row["point"], row["repetition"]) for row in rows}
    if frame.empty:
        return frame
    groups = frame.groupby(["metric", "version", "settings"], sort=False)
    whole = [set(zip(group["point"], group["repetition"], strict=True)) == searches for _, group in groups]
    return frame[groups.ngroup().map(dict(enumerate(whole))).astype(bool)]


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).hexdigest()
