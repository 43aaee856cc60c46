"""What a search shares with the rest of its process: stdout and the global generators."""

from __future__ import annotations

import os
import random
import sys
import tempfile

import numpy as np

LONGEST_OUTPUT = 60
"""Characters of a searcher's output that a message repeats."""


class Output:
    """Takes over this process's stdout, file descriptor included, so that whatever comes out can be read.

    For child processes: stdout is not given back.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        sys.stdout.flush()
        os.dup2(self._file.fileno(), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False)
        self._start = 0

    def discard(self) -> None:
        """Forget what came out until now."""
        sys.stdout.flush()
        self._start = os.fstat(self._file.fileno()).st_size

    def text(self) -> str:
        """Return what came out since, shortened."""
        sys.stdout.flush()
        found = os.pread(self._file.fileno(), 4 * LONGEST_OUTPUT, self._start).decode("utf-8", errors="replace")
        return found if len(found) <= LONGEST_OUTPUT else f"{found[: LONGEST_OUTPUT - 3]}..."


def generator_states() -> dict[str, object]:
    """Return the states of the global generators that plugins may have touched."""
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002 - the state that plugins may have touched
    assert isinstance(keys, np.ndarray)
    return {"numpy's": (kind, keys.tobytes(), *rest), "Python's": random.getstate()}
