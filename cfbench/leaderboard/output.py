"""A file for a rendered board: refused before anything is computed, replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path

from cfbench.errors import CfbenchError
from cfbench.harness.store.disk import write_atomically
from cfbench.harness.store.layout import refuse_inside_record


def check_output(path: Path) -> None:
    """Refuse a file that could not be written, before the work for it is done.

    Raises
    ------
    CfbenchError
        If its folder is missing or may not be written, the file may not be replaced, or it lies in a record.
    """
    refuse_inside_record(path)
    if not path.parent.is_dir():
        raise CfbenchError(f"{path} cannot be written: {path.parent} is no folder; make it, or name another file")
    if path.is_dir():
        raise CfbenchError(f"{path} cannot be written: it is a folder; name a file in it")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CfbenchError(f"{path} cannot be written: {path.parent} may not be written to; name a file elsewhere")


def write_output(text: str, path: Path) -> None:
    """Replace a file by `text`, as a whole or not at all.

    Raises
    ------
    CfbenchError
        If it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe or a device takes what it is given
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise CfbenchError(
            f"{path} cannot be written: {error.strerror or error}; name a file in a folder that exists and that you "
            "may write to"
        ) from error
