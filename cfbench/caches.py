"""The user's cache: where it is, and how files get in and out of it safely.

A cached model is a pickle, and loading a pickle runs what is in it. So a file is unpickled only if it and its folder
belong to this user, no other user may write to them, and its checksum fits.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import stat
import sys
from pathlib import Path
from typing import Any

import platformdirs

from cfbench.errors import UnavailableError
from cfbench.files import write_atomically

CACHE_VARIABLE = "CFBENCH_CACHE_DIR"
"""Environment variable that names another cache directory."""

_CHECKSUM_BYTES = 16
_log = logging.getLogger(__name__)


def cache_dir() -> Path:
    """Return the cache directory; made, for this user alone, if it is not there.

    Raises UnavailableError if it cannot be made.
    """
    named = os.environ.get(CACHE_VARIABLE, "")
    path = Path(named) if named else Path(platformdirs.user_cache_dir("cfbench", appauthor=False))
    return _made(path.expanduser().absolute())


def cache_folder(name: str) -> Path:
    """Return a folder of the cache, for this user alone to write; made if it is not there.

    Raises UnavailableError if it cannot be made, belongs to another user, or others may write to it.
    """
    return private_folder(cache_dir() / name)


def private_folder(path: Path) -> Path:
    """Return the folder `path`, for this user alone to write; made if it is not there.

    Raises UnavailableError if it cannot be made, belongs to another user, or others may write to it.
    """
    _made(path)
    objection = _objection(path.stat())
    if objection:
        raise UnavailableError(
            f"the cache folder {path} {objection}, so what it holds cannot be trusted. Remove it, or set "
            f"{CACHE_VARIABLE} to a folder of your own."
        )
    return path


def store_object(path: Path, value: object) -> None:
    """Pickle `value` to `path`, a checksum in front. A cache that cannot be written is reported, not an error."""
    payload = pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        write_atomically(path, _checksum(payload) + payload, mode=0o600)
    except OSError as error:
        _log.warning("cannot keep %s in the cache: %s", path, error.strerror)


def load_object(path: Path) -> Any:
    """Return the object that `store_object` wrote to `path`; None where there is none that can be trusted.

    A file that is truncated, changed, written by another user, or writable by others is reported and ignored. The
    caller then makes the object again and overwrites the file.
    """
    content = read_trusted(path)
    if content is None:
        return None
    payload = content[_CHECKSUM_BYTES:]
    if content[:_CHECKSUM_BYTES] != _checksum(payload):
        _log.warning("the cached file %s is damaged (its checksum does not fit); it is made again", path)
        return None
    try:
        return pickle.loads(payload)  # noqa: S301 - owner, mode and checksum were checked above
    except Exception as error:  # a pickle of other versions may raise anything
        _log.warning("the cached file %s cannot be read (%s: %s); it is made again", path, type(error).__name__, error)
        return None


def read_trusted(path: Path) -> bytes | None:
    """Return the content of a cached file; None where it is missing, unreadable, or not this user's alone to write."""
    try:
        # No symbolic links: what is checked must be what is read. No waiting: a named pipe has no end.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        _log.warning("the cached file %s cannot be read (%s); it is made again", path, error.strerror)
        return None
    try:
        status = os.fstat(descriptor)
        objection = _objection(status) if stat.S_ISREG(status.st_mode) else "is no file"
        if objection:
            _log.warning("the cached file %s %s; it is not used but made again", path, objection)
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def _made(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UnavailableError(
            f"the cache folder {path} cannot be made: {error.strerror}. Set {CACHE_VARIABLE} to a folder of your own."
        ) from error
    return path


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES).digest()


def _objection(status: os.stat_result) -> str:
    """Say why a file or folder is not this user's alone to write; empty where it is."""
    if sys.platform == "win32":  # which has neither owners nor modes in this sense
        return ""
    if status.st_uid != os.geteuid():
        return f"belongs to user {status.st_uid}, not to you (user {os.geteuid()})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"may be written by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return ""
