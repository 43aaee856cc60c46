"""Mounted file systems in memory, where mounting is permitted."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path


class Disk:
    """A mounted file system in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def remount(self, options: str) -> None:
        _mount("-o", f"remount,{options}", str(self._folder))


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Disk | None]:
    """Mount a file system of that size on `folder`; None where that is not permitted."""
    folder.mkdir(exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


SmallDisk = Callable[[Path, str], AbstractContextManager[Disk | None]]
"""What mounts a disk of some size on a folder; it yields None where that is not permitted."""
