"""A gate at which a search, a fit or a report waits for the test."""

from __future__ import annotations

import os
import select
from pathlib import Path

from tests.faults.commands import LONGEST, Hangs


class Gate:
    """Where searches, fits or reports of `fault_plugin` stop as long as it is closed for them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._pipes = {}
        for name in ("arrived", "open"):
            os.mkfifo(folder / name)
            self._pipes[name] = os.open(folder / name, os.O_RDWR)

    def close_for(self, what: str) -> None:
        (self._folder / f"closed-for-{what}").touch()

    def arrival(self) -> int:
        """Wait until somebody has come to the gate, and return the number of that process."""
        if not select.select([self._pipes["arrived"]], [], [], LONGEST)[0]:
            raise Hangs
        return int(os.read(self._pipes["arrived"], 100))

    def open_for_the_next(self, what: str) -> None:
        """Let all pass that come from now on; who waits already stays."""
        (self._folder / f"closed-for-{what}").unlink()

    def open(self, what: str) -> None:
        """Let all pass, and the one who waits go on."""
        self.open_for_the_next(what)
        os.write(self._pipes["open"], b"go")

    def end(self) -> None:
        for pipe in self._pipes.values():
            os.close(pipe)
