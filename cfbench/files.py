"""Files: paths as people write them, and writing that survives a kill or a power cut."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def at_home(path: Path) -> Path:
    """Return a path with the user's home in place of a ``~`` that no shell has put there.

    A path that begins with an unknown user's name stays as it is.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def write_atomically(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replace `path` by `data`: a reader sees all of the old content or all of the new.

    Two processes may write the same file at once: the last one to finish wins. `mode` is restricted by the umask.

    Raises OSError if the disk refuses; the old content stays, and no draft is left behind.
    """
    make_directory(path.parent)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
    _sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Create a directory and its parents so that they survive a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        _sync_directory(folder.parent)


def _sync_directory(path: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems do not sync directories
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
