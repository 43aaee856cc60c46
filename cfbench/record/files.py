"""The files of a results directory: which names they have, and how they are written and refused.

::

    record.db           the record, an SQLite database (with record.db-wal and record.db-shm while a run writes it)
    lock                which process writes it
    tracking.json       the study that ran last, and where it is tracked

A packed record is a directory with ``packed.json`` and the files that it names.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from cfbench.errors import RecordError

DATABASE_NAME = "record.db"
"""File by which a record is known."""
PACKED_NAME = "packed.json"
"""File by which a packed record is known."""
OLD_NAME = "record.json"
"""File by which a record of cfbench 0.1, a directory of journals and tables, is known."""

_COMPANIONS = re.compile(r"lock|tracking\.json|mlflow.*|mlruns|mlartifacts|lost\+found|\..*")
"""Names that may stand in a directory before it becomes a record: those of tracking, and hidden files."""
_SAFE = (
    "Every search that ended before this one is safe in the record; free some space, then give the same command again: "
    "only the missing searches run"
)
_FORBIDDEN = "Make it {how} for this user, or name another results directory with --results"
_LOCKED = "Another program keeps it locked: close that program and give the same command again"
_SYSTEM = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), f"The disk or the quota is full. {_SAFE}"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _FORBIDDEN),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "A part of this path is a file; name a directory with --results"),
}
_SQLITE = {
    sqlite3.SQLITE_NOTADB: "It is damaged, or it is not a record; name another results directory with --results",
    sqlite3.SQLITE_CORRUPT: (
        "The file is damaged. `cfbench merge {folder} --results NEW` takes over all cells that can be read; run the "
        "study with --results NEW then: what is missing runs again"
    ),
    sqlite3.SQLITE_FULL: f"The disk or the quota is full. {_SAFE}",
    sqlite3.SQLITE_IOERR: f"The disk refuses; it may be full. {_SAFE}",
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _LOCKED),
    **dict.fromkeys((sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM), _FORBIDDEN),
}
_DEFAULT = "What the record holds stays as it is; remove the cause and give the same command again"


def results_option(path: Path) -> str:
    """Return what commands that are printed need to find a record: nothing if it is in the default directory."""
    return "" if path == Path("results") else f" --results {shlex.quote(str(path))}"


def is_packed(path: Path) -> bool:
    """Return whether `path` is the directory of a packed record."""
    return (path / PACKED_NAME).is_file()


def check_directory(path: Path, *, write: bool) -> bool:
    """Return whether `path` is a record (True) or can become one (False, for writing only); raise RecordError else."""
    with explained(path, "read"):
        if path.exists() and not path.is_dir():
            raise RecordError(f"{path} is a file; a record is a directory: name another one with --results")
        names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if DATABASE_NAME in names:
        with explained(path / DATABASE_NAME, "read"):
            refuse_device(path / DATABASE_NAME)
            if (path / DATABASE_NAME).stat().st_size > 0:
                return True
        names -= {DATABASE_NAME, f"{DATABASE_NAME}-journal"}  # a kill left it behind before anything was in it
    if OLD_NAME in names:
        raise RecordError(
            f"{path} holds a record of an earlier cfbench (journals and one table per cell), which this version does "
            f"not read. Pack it with the version that wrote it, `cfbench pack --results {path} --output PACKED`; this "
            "version reads PACKED, and `cfbench merge PACKED --results NEW` makes a record of it that can grow"
        )
    if not write:
        raise RecordError(
            f"{no_record_in(path)}. Check the path, or run a study into it, for a start\n"
            f"  cfbench run --results {shlex.quote(str(path))}"
        )
    foreign = sorted(name for name in names if not _COMPANIONS.fullmatch(name))
    if foreign:
        raise RecordError(
            f"{path} holds other things ({', '.join(foreign[:3])}{', ...' if len(foreign) > 3 else ''}) and no "
            f"{DATABASE_NAME}: it is left untouched. Name an empty or a new directory with --results"
        )
    outer = record_around(path)
    if outer is not None:
        raise RecordError(f"{path} lies in the record {outer}; name a directory outside of it with --results")
    return False


def no_record_in(path: Path) -> str:
    """Return that `path` holds no record, and whether the folder exists at all."""
    what = "the folder holds none" if path.is_dir() else "the folder does not exist"
    return f"there is no record in {path}: {what}"


def check_record(path: Path) -> None:
    """Raise RecordError if `path` holds no record: commands that only add to a record make none."""
    if not is_packed(path):
        check_directory(path, write=False)


def record_around(path: Path) -> Path | None:
    """Return the record, packed or not, in which `path` lies, as it is written or where its links lead."""
    written, real = (Path(os.path.realpath(place)) for place in (path.parent, path))  # a link to itself is no error
    for folder in (written, *written.parents, *real.parents):
        if any((folder / name).is_file() for name in (DATABASE_NAME, PACKED_NAME, OLD_NAME)):
            return folder
    return None


def refuse_inside_record(path: Path) -> None:
    """Raise RecordError if `path`, which is to be written, lies in a record; links are followed."""
    folder = record_around(path)
    if folder is not None:
        raise RecordError(
            f"{path} cannot be written: {folder} is a record, and nothing but the record is written there; name a "
            "path outside of it"
        )


def refuse_device(path: Path) -> None:
    """Raise OSError if `path` is a pipe or a device: reading a pipe would wait for a writer."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe or a device, no file of a record")


@contextlib.contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    """Turn an error of the system or of SQLite into a RecordError that says what is safe and how to go on.

    `action` is "read" or "written".
    """
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, OSError):
            what, advice = f": {error.strerror or error}", _SYSTEM.get(error.errno or 0, _DEFAULT)
        else:
            what, advice = f" ({error})", _SQLITE.get(_code(error), _DEFAULT)
        how = "readable" if action == "read" else "writable"
        advice = advice.format(how=how, folder=path.parent)
        raise RecordError(f"{path} cannot be {action}{what}. {advice}") from error


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the database's pages, or values in them, are damaged."""
    return _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _code(error: sqlite3.Error) -> int:
    """Return the primary error code; the byte above it says more (which kind of I/O error)."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
