"""Reporting everything that is wrong with a file at once, so that one correction round suffices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cfbench import DataError

MOST_SHOWN = 10
"""A file with more problems than this usually has one cause; the rest is counted."""


def refuse(where: str, problems: Sequence[str]) -> DataError:
    """Return the error that lists `problems` of the file or folder `where`, a line each."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    lines = [f"{where} cannot be used, {count}:", *(f"  - {problem}" for problem in problems[:MOST_SHOWN])]
    if len(problems) > MOST_SHOWN:
        lines.append(f"  and {len(problems) - MOST_SHOWN} more; mend these first")
    return DataError("\n".join(lines))


def refuse_device(path: Path) -> None:
    """Refuse a pipe or a device, which may never end, and which a run that goes on could not read again.

    Raises
    ------
    DataError
        If `path` exists and is neither a file nor a folder.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(f"{path} is a pipe or a device; a data set's files are read again and again: save it as a file")
