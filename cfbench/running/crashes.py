"""What a plugin's exception becomes: the reason of a crash in the record, or an error that names the plugin."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from cfbench.errors import CfbenchError
from cfbench.problem.outcome import Status

T = TypeVar("T")

LONGEST_MESSAGE = 500
"""Characters of a plugin's error that a row keeps."""

_CORE = f"{Path(__file__).parents[1]}{os.sep}"

_OUT_OF_MEMORY = MemoryError.__name__
"""Begins the reason where a searcher was refused memory, by an error of numpy's own, too."""


def crash_reason(error: BaseException) -> str:
    """Name the error and the line of the plugin that raised it, or that called what raised it in cfbench's core."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if not frame.filename.startswith(_CORE)), None)
    place = f" ({last.filename.rsplit('/', 1)[-1]}:{last.lineno})" if last else ""
    try:
        said = str(error)
    except Exception:
        said = "its message cannot be shown"
    shown = said if len(said) <= LONGEST_MESSAGE else f"{said[:LONGEST_MESSAGE]}..."
    name = _OUT_OF_MEMORY if isinstance(error, MemoryError) else type(error).__name__
    return f"{name}: {shown}{place}"


def ran_out_of_memory(row: Mapping[str, Any]) -> bool:
    """Whether a search crashed because the process that ran it could have no more memory."""
    return row["status"] == Status.CRASHED and str(row["reason"]).startswith(_OUT_OF_MEMORY)


def called(
    who: str,
    what: str,
    call: Callable[[], T],
    error: type[CfbenchError],
    passing: type[BaseException] = CfbenchError,
) -> T:
    """Call a method of a plugin; raise `error`, which names plugin, method and line, if it raises anything.

    Errors of the class `passing` come through, and so does MemoryError.
    """
    try:
        return call()
    except (passing, MemoryError):
        raise
    except (Exception, SystemExit) as raised:
        raise error(f"{who}: {what} raised {crash_reason(raised)}") from raised
