"""Where everything stands in a results directory, and whether a directory is a record at all.

::

    record.json                     versions of the protocol and of the schema
    journal/KEY.log                 searches of cells under way, one line each
    cells/KE/KEY.parquet            searches of a finished cell
    measures/KE/KEY.parquet         what metrics say about them
    index.log, measured.log         one line a cell: its summary; what was measured
    machines.json                   what the searches ran on
    lock                            who writes

Paths are made of checked keys only, never of names that a plugin or a file brings.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.files import explained, write_atomically
from cfbench.study.protocol import PROTOCOL_VERSION, SCHEMA_VERSION

RECORD_NAME = "record.json"
"""File by which a record is known."""
PACKED_NAME = "packed.json"
"""File by which a packed record is known."""

_KEY = re.compile(r"[0-9a-f]{32}")
_COMPANIONS = re.compile(r"lock|tracking\.json|mlflow.*|mlruns|mlartifacts|lost\+found|\..*")
"""Names that may stand in a directory before it becomes a record: what tracking puts there, and hidden files."""


def checked_key(key: str) -> str:
    """Return `key` if it is a cell's key.

    Raises
    ------
    RecordError
        If it is anything but 32 hexadecimal digits.
    """
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise RecordError(f"{key!r:.100} is no cell's key: a key is 32 hexadecimal digits in lower case")
    return key


def table_path(folder: Path, key: str) -> Path:
    """Return the path of a cell's table; two digits spread the files over 256 folders."""
    return folder / key[:2] / f"{key}.parquet"


def keys_in(folder: Path, suffix: str) -> list[str]:
    """Return the keys that have a file in `folder`, sorted."""
    with explained(folder, "read"):
        found = [path.stem for path in folder.iterdir() if path.suffix == suffix] if folder.is_dir() else []
    return sorted(key for key in found if _KEY.fullmatch(key))


def keys_of_tables(folder: Path) -> list[str]:
    """Return the keys that have a table below `folder`, sorted."""
    with explained(folder, "read"):
        shelves = sorted(folder.iterdir()) if folder.is_dir() else []
    return [key for shelf in shelves if shelf.is_dir() for key in keys_in(shelf, ".parquet") if key[:2] == shelf.name]


def record_around(path: Path) -> Path | None:
    """Return the record, finished or packed, that `path` lies in, as it is written or where its links lead."""
    written, real = (Path(os.path.realpath(place)) for place in (path.parent, path))  # a link to itself is no error
    for folder in (written, *written.parents, *real.parents):
        if any((folder / name).is_file() for name in (RECORD_NAME, PACKED_NAME)):
            return folder
    return None


def refuse_inside_record(path: Path) -> None:
    """Refuse a path in which something is to be written, where it lies in a record, finished or packed.

    Raises
    ------
    RecordError
        If one of the folders above `path` is a record; links are followed.
    """
    folder = record_around(path)
    if folder is not None:
        raise RecordError(
            f"{path} cannot be written: {folder} is a record, and nothing but the record is written there; name a "
            "path outside of it"
        )


def check_directory(path: Path, *, write: bool) -> bool:
    """Say whether `path` is a record of this version (True) or may become one (False, for writing only).

    Nothing is created or changed.

    Raises
    ------
    RecordError
        If it is a file, a directory with other things in it, a record of another version, or, for reading, no record.
    """
    with explained(path, "read"):
        if path.exists() and not path.is_dir():
            raise RecordError(f"{path} is a file; a record is a directory: name another one with --results")
        names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    if RECORD_NAME in names:
        _check_versions(path)
        return True
    if not write:
        raise RecordError(
            f"{no_record_in(path)}. Check the path, or run a study into it, for a start\n"
            f"  cfbench run --preset quick --results {shlex.quote(str(path))}"
        )
    foreign = sorted(name for name in names if not _COMPANIONS.fullmatch(name))
    if foreign:
        raise RecordError(
            f"{path} holds other things ({', '.join(foreign[:3])}{', ...' if len(foreign) > 3 else ''}) and no "
            "record.json: it is left untouched. Name an empty or a new directory with --results"
        )
    outer = record_around(path)
    if outer is not None:
        raise RecordError(f"{path} lies in the record {outer}; name a directory outside of it with --results")
    return False


def no_record_in(path: Path) -> str:
    """Say that `path` holds no record, and whether the folder exists at all."""
    what = "the folder holds none" if path.is_dir() else "the folder does not exist"
    return f"there is no record in {path}: {what}"


def check_record(path: Path) -> None:
    """Refuse a directory that is no record that exists: what only adds to a record makes none.

    Raises
    ------
    RecordError
        As `check_directory` for reading.
    """
    if not (path / PACKED_NAME).is_file():
        check_directory(path, write=False)


def opened_path(path: Path, *, write: bool) -> Path:
    """Return the directory to open for the record at `path`: another one where `path` is a packed record.

    Raises
    ------
    RecordError
        If a packed record is to be written, or is damaged.
    """
    if not (path / PACKED_NAME).is_file():
        return path
    if write:
        raise RecordError(
            f"{path} is a packed record, which is read only; `cfbench merge {path} --results DIR` makes one of it "
            "that can grow"
        )
    from cfbench.record.unpacking import unpacked

    return unpacked(path)


def create_record(path: Path) -> None:
    """Make `path`, a directory, a record."""
    content = {"format": "cfbench record", "protocol": PROTOCOL_VERSION, "schema": SCHEMA_VERSION}
    write_atomically(path / RECORD_NAME, json.dumps(content, indent=2).encode("ascii") + b"\n")


def _check_versions(path: Path) -> None:
    file = path / RECORD_NAME
    with explained(file, "read"):
        data = file.read_bytes()
    try:
        content = json.loads(data)
        protocol, schema = content["protocol"], content["schema"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError(
            f"{file} is damaged ({type(error).__name__}: {error}). If this version of cfbench wrote the record, put "
            f'{{"protocol": {PROTOCOL_VERSION}, "schema": {SCHEMA_VERSION}}} into that file; nothing else is lost'
        ) from error
    if (protocol, schema) != (PROTOCOL_VERSION, SCHEMA_VERSION):
        raise RecordError(
            f"{path} was written by protocol version {protocol!r:.20}, schema version {schema!r:.20}; this cfbench has "
            f"protocol version {PROTOCOL_VERSION}, schema version {SCHEMA_VERSION}. Results of different versions are "
            "never mixed: keep that directory for the cfbench that wrote it, and name another one with --results"
        )
