"""Files: paths as people write them, and writing that survives a kill or a power cut."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cfbench.errors import RecordError


def at_home(path: Path) -> Path:
    """Return a path with the user's home in place of a ``~`` that no shell has put there.

    One that begins with the name of somebody who has no home here stays as it is.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: whoever reads it, whenever, sees all of the old content or all of the new.

    Raises
    ------
    OSError
        If the disk refuses; the old content stays and no draft is left behind.
    """
    make_directory(path.parent)
    draft = path.with_name(f".{path.name}.draft")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`; the system may take it in parts, the last part before a full disk included."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def make_directory(path: Path) -> None:
    """Create a directory and its parents so that they survive a power cut."""
    if path.is_dir():
        return
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        sync_directory(folder.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a power cut; a no-op where directories cannot be synced."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_stored(path: Path, report: Callable[[str], None], *, writing: bool) -> bytes | None:
    """Return the content of one of the record's files; None where there is no file, or a reader may not have it.

    What the system refuses to read is not damaged. A writer stops there: it would take for missing what it was only
    refused, and put something else in its place.

    Parameters
    ----------
    path : Path
    report : callable
        Receives a sentence about a file that is left out.
    writing : bool
        Whether the record is open for writing.

    Raises
    ------
    RecordError
        If the system refuses, and the record is open for writing.
    """
    try:
        refuse_device(path)
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return b""  # damaged, as a file without content is
    except OSError as error:
        if writing:
            raise RecordError(_sentence(error, path, "read")) from error
        report(f"{path} cannot be read ({error.strerror or error}); what it holds is left out, and stays as it is")
        return None


def is_of_size(path: Path, mark: str) -> bool:
    """Whether a file has the size that its mark begins with; no file has that of an empty mark.

    Of a file that the system does not let us look at, nothing else is known: whoever reads it says so.
    """
    try:
        return mark.partition("-")[0] == str(path.stat().st_size)
    except OSError:
        return True


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that a sound one can take its place; no earlier copy is overwritten.

    Returns
    -------
    Path
        Where it is now.
    """
    copy, number = path.with_name(f"{path.name}.damaged"), 1
    while os.path.lexists(copy):
        number += 1
        copy = path.with_name(f"{path.name}.damaged-{number}")
    path.rename(copy)
    return copy


@contextlib.contextmanager
def explained(path: Path, action: str) -> Iterator[None]:
    """Turn an OSError into a RecordError that says what is safe and how to go on; no pipe is read, which may wait.

    Parameters
    ----------
    path : Path
        What was read or written.
    action : str
        "read" or "written".
    """
    try:
        if action == "read":
            refuse_device(path)
        yield
    except OSError as error:
        raise RecordError(_sentence(error, path, action)) from error


def refuse_device(path: Path) -> None:
    """Refuse what is neither a file nor a directory: reading a pipe would wait for whoever writes into it.

    Raises
    ------
    OSError
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is a pipe or a device, no file of a record")


def _sentence(error: OSError, path: Path, action: str) -> str:
    what = f"{path} cannot be {action}: {error.strerror or error}."
    if error.errno in _FULL:
        return (
            f"{what} The disk or the quota is full. Every search that ended before this one is safe in the record; "
            "free some space, then give the same command again: only the missing searches run"
        )
    if error.errno in _FORBIDDEN:
        how = "readable" if action == "read" else "writable"
        return f"{what} Make it {how} for this user, or name another results directory with --results"
    if error.errno in {errno.ENOTDIR, errno.EEXIST}:
        return f"{what} A part of this path is a file; name a directory with --results"
    return f"{what} What the record holds stays as it is; mend that and give the same command again"
