"""What a searcher does to the process that runs it ends with the search: copies of the process, and its output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

FORKED = 73
"""Exit code of a copy of this process that a searcher has made and not ended."""


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Send a plugin's output beside the standard output, and end every copy of this process that comes out of it.

    Standard output is for what the user asked for. A copy that went on would run the rest of the study a second time,
    and write into the same record.
    """
    number = os.getpid()
    try:
        with contextlib.redirect_stdout(sys.stderr), _descriptor_beside():
            yield
    finally:
        if os.getpid() != number:
            os._exit(FORKED)


@contextlib.contextmanager
def _descriptor_beside() -> Iterator[None]:
    """Send what compiled code writes to standard output to standard error; where one is closed, nothing happens."""
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
