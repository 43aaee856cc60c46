"""Files: paths as people write them, and writing that survives a kill or a power cut."""

from __future__ import annotations

from pathlib import Path


def at_home(path: Path) -> Path:
    """Return a path with the user's home in place of a ``~`` that no shell has put there.

    One that begins with the name of somebody who has no home here stays as it is.
    """
    try:
        return path.expanduser()
    except RuntimeError:
        return path
