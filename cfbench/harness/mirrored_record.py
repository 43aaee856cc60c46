"""A record rebuilt from the runs of a tracking store, cell by cell: what is there already is not fetched again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from cfbench.errors import RecordError
from cfbench.harness.mirrored_cell import UnfitCellError, fetched_cell
from cfbench.harness.store.disk import explained
from cfbench.harness.store.index import Index
from cfbench.harness.store.layout import keys_of_tables, table_path
from cfbench.harness.store.record import Record

FETCHED_NAME = "fetched.log"
"""File in a rebuilt record that says from which state of which run a cell was taken."""
MOST_TROUBLES = 5
"""So many runs in succession whose files cannot be had, before any that can, are no accident."""


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
        """Return a file of a run; ValueError says why it cannot be had."""


@dataclass(frozen=True)
class Rebuilt:
    """What was done to rebuild a record.

    Parameters
    ----------
    listing : MirrorListing
        What the store holds.
    fetched, removed : int
        Cells that were fetched now; cells of an earlier fetch that the store does not hold any more.
    left_out : tuple of str
        Runs that could not be taken over, a sentence each.
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

    Parameters
    ----------
    reader : MirrorReader
    path : Path
        An empty or new directory, or one that this function has filled before.
    study : str
        Name of the one study to take; all of the store's where it is empty.
    track : callable
        Shows the progress of a loop over a sequence.

    Raises
    ------
    RecordError
        If `path` holds a record that was not fetched, or cannot be written.
    TrackingError
        If the store does not answer, or with an error.
    """
    check_target(path)
    listing = reader.listing(study)
    wanted = {cell.key: cell for cell in listing.cells}
    with Record.open(path, write=True) as record:
        fetched = Index(path / FETCHED_NAME, record.problems.append)
        state = {key: str(line.get("content", "")) for key, line in fetched.contents()}
        stored = set(keys_of_tables(path / "cells"))
        missing = [cell for key, cell in wanted.items() if key not in stored or state.get(key) != cell.content]
        left_out = list(_fetch(reader, record, fetched, missing, track))
    removed = _remove(path, stored - wanted.keys())
    return Rebuilt(listing, len(missing) - len(left_out), removed, tuple(left_out))


def check_target(path: Path) -> None:
    """Refuse a directory with a record of its own: fetching would replace its cells.

    Raises
    ------
    RecordError
    """
    if (path / "record.json").exists() and not (path / FETCHED_NAME).exists():
        raise RecordError(
            f"{path} holds a record that was not fetched from a tracking server; name an empty or a new directory with "
            "--results, or leave it out: then the record is rebuilt in the cache"
        )


def _fetch(
    reader: MirrorReader,
    record: Record,
    fetched: Index,
    cells: Sequence[MirroredCell],
    track: Callable[[Sequence[Any]], Iterable[Any]],
) -> Iterator[str]:
    """Take the cells over one by one; yield a sentence for each that cannot be."""
    if not fetched.load():
        fetched.rewrite()  # marks the directory as fetched, before any cell is in it
    troubles, any_fetched = 0, False
    for cell in track(cells):
        try:
            found = fetched_cell(cell.key, partial(reader.file, cell.run_id))
        except (UnfitCellError, ValueError) as error:  # the latter: this run's file cannot be had
            troubles += not isinstance(error, UnfitCellError)
            if troubles == MOST_TROUBLES and not any_fetched:
                raise RecordError(
                    f"the files of {troubles} runs in succession cannot be had, the last: run {cell.run_id}: {error}. "
                    "The server lists its runs, but not what they hold: its artifacts have moved or are gone, or this "
                    "user may not read them. Cells fetched before are kept"
                ) from error
            yield f"run {cell.run_id}: {error}"
            continue
        any_fetched = True
        record.adopt(found.info, found.content, found.eligible, found.rows)
        if len(found.measures):
            record.write_measures(cell.key, found.measures)
        fetched.put(cell.key, {"run": cell.run_id, "content": cell.content})


def _remove(path: Path, keys: set[str]) -> int:
    """Take cells out of a fetched record; its indexes are written again from the tables."""
    if not keys:
        return 0
    with Record.open(path, write=True), explained(path, "written"):
        for key in keys:
            table_path(path / "cells", key).unlink(missing_ok=True)
            table_path(path / "measures", key).unlink(missing_ok=True)
        for name in ("index.log", "measured.log"):
            (path / name).unlink(missing_ok=True)
    Record.open(path, write=True).close()
    return len(keys)
