"""A record rebuilt from the runs of a tracking store, cell by cell, without trust in what the store holds.

Only JSON and parquet are read. Nothing is unpickled or run. Sizes are known before anything is unpacked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from cfbench.digests import DIGEST_BYTES
from cfbench.errors import RecordError
from cfbench.record.cells import checked_info, objection_to
from cfbench.record.files import DATABASE_NAME
from cfbench.record.frames import MEASURE_SCHEMA, SEARCH_SCHEMA
from cfbench.record.schema import Row, checked_key, checked_rows
from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from cfbench.study.protocol import PROTOCOL_VERSION

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

    `content` is what the key is a digest of. `measures` are of metrics that were measured on all of the searches.
    """

    info: CellInfo
    content: dict[str, Any]
    eligible: int
    rows: list[Row]
    measures: pd.DataFrame


def fetched_cell(key: str, file_of: FileOf) -> FetchedCell:
    """Read the cell `key` from its files.

    Errors of `file_of` pass through. Raises UnfitCellError if the files are not those of this cell, whole, in this
    version's layout.
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
        rows = checked_rows(table.to_pylist())
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


FETCHED = "fetched from a tracking store"
"""Fact noted in a record that was rebuilt; each of its cells says which state of which run it was taken from."""
MOST_TROUBLES = 5
"""After this many consecutive failures at the start, give up."""


@dataclass(frozen=True)
class MirroredCell:
    """A run of a tracking store that holds a cell.

    Parameters
    ----------
    run_id : str
    key : str
        The cell's key, as the run claims.
    content : str
        Stands for all that the run holds: another one, and the run has changed.
    """

    run_id: str
    key: str
    content: str


@dataclass(frozen=True)
class MirrorListing:
    """What a tracking store holds of studies.

    Parameters
    ----------
    cells : tuple of MirroredCell
        One a key.
    studies : tuple of str
        Names of the experiments that were read.
    foreign, unfinished, doubled : int
        Runs in those experiments that are no cells, are not whole yet, or hold a cell that another run holds, too.
    """

    cells: tuple[MirroredCell, ...]
    studies: tuple[str, ...]
    foreign: int
    unfinished: int
    doubled: int


class MirrorReader(Protocol):
    """Reads a tracking store; the tracking reporter brings one."""

    def listing(self, study: str) -> MirrorListing:
        """List the cells of a study; of all studies where `study` is empty."""

    def file(self, run_id: str, name: str, most_bytes: int) -> bytes:
        """Return a file of a run; ValueError says why it is unavailable."""


@dataclass(frozen=True)
class Rebuilt:
    """What was done to rebuild a record.

    `fetched` cells were fetched now; `removed` ones of an earlier fetch are no longer in the store. `left_out` has a
    sentence for each run that could not be taken over.
    """

    listing: MirrorListing
    fetched: int
    removed: int
    left_out: tuple[str, ...]

    @property
    def kept(self) -> int:
        """Cells that an earlier fetch had brought, in their present state."""
        return len(self.listing.cells) - self.fetched - len(self.left_out)

    def remarks(self) -> list[str]:
        """Return what a reader of the record should know, a sentence each."""
        listing = self.listing
        counts = [
            (listing.foreign, "no cells of cfbench and were ignored"),
            (listing.unfinished, "not whole yet and were left out; `cfbench sync` of their record completes them"),
            (listing.doubled, "cells that another run holds, too, with as many searches or more"),
        ]
        said = [f"{count:,} of the runs there are {what}" for count, what in counts if count]
        if self.removed:
            said.append(f"{self.removed:,} cells fetched earlier are not on the server any more and were removed")
        return said + [f"left out: {sentence}" for sentence in self.left_out]


def rebuild_record(
    reader: MirrorReader,
    path: Path,
    study: str = "",
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> Rebuilt:
    """Bring the record in `path` to what a tracking store holds.

    Every cell is on the disk before the next is fetched: where the store fails, what was fetched stays, and the same
    call goes on from there.

    `path` is a new or empty directory, or one that this function has filled before. Without a `study`, all of the
    store's are taken. `track` shows the progress of a loop. Raises RecordError if `path` holds a record that was not
    fetched, or cannot be written, and TrackingError if the store does not answer, or with an error.
    """
    check_target(path)
    listing = reader.listing(study)
    wanted = {cell.key: cell for cell in listing.cells}
    with Record.open(path, write=True) as record:
        record.note(FETCHED, "yes")  # before any cell is in it
        state = {key: cell.source for key, cell in record.summaries().items()}
        missing = [cell for key, cell in wanted.items() if state.get(key) != _source(cell)]
        left_out = list(_fetch(reader, record, missing, track))
        gone = state.keys() - wanted.keys()
        record.remove(gone)
    return Rebuilt(listing, len(missing) - len(left_out), len(gone), tuple(left_out))


def _source(cell: MirroredCell) -> str:
    return f"run {cell.run_id}, {cell.content}"


def check_target(path: Path) -> None:
    """Refuse a directory with a record of its own: fetching would replace its cells."""
    if not (path / DATABASE_NAME).exists():
        return
    with Record.open(path) as record:
        was_fetched = FETCHED in record.notes()
    if not was_fetched:
        raise RecordError(
            f"{path} holds a record that was not fetched from a tracking server; name an empty or a new directory with "
            "--results, or leave it out: then the record is rebuilt in the cache"
        )


def _fetch(
    reader: MirrorReader,
    record: Record,
    cells: Sequence[MirroredCell],
    track: Callable[[Sequence[Any]], Iterable[Any]],
) -> Iterator[str]:
    """Take the cells over one by one; yield a sentence for each that cannot be."""
    troubles, any_fetched = 0, False
    for cell in track(cells):
        try:
            found = fetched_cell(cell.key, partial(reader.file, cell.run_id))
        except (UnfitCellError, ValueError) as error:  # the latter: this run's file is unavailable
            troubles += not isinstance(error, UnfitCellError)
            if troubles == MOST_TROUBLES and not any_fetched:
                raise RecordError(
                    f"the files of {troubles} successive runs are unavailable, the last: run {cell.run_id}: {error}. "
                    "The server lists its runs, but not what they hold: its artifacts have moved or are gone, or this "
                    "user may not read them. Cells fetched before are kept"
                ) from error
            yield f"run {cell.run_id}: {error}"
            continue
        any_fetched = True
        with record.transaction():
            record.adopt(found.info, found.content, found.eligible, found.rows, source=_source(cell))
            if len(found.measures):
                record.write_measures(cell.key, found.measures)
