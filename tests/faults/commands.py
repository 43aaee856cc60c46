"""Commands that are processes of their own, forked from one that has loaded cfbench."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LONGEST = 120.0
"""Seconds after which something counts as hanging; all of it takes a few."""


class Hangs(AssertionError):
    """A process has not done in `LONGEST` seconds what it does in a few."""


class WarmStart:
    """The process that forks commands."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "warm_start.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.living: set[int] = set()
        assert self._answer() == "ready"

    def run(self, order: Mapping[str, Any]) -> int:
        number = int(self._ask(order))
        self.living.add(number)
        return number

    def wait(self, number: int) -> int:
        code = int(self._ask({"wait": number}))
        self.living.discard(number)
        return code

    def _ask(self, order: Mapping[str, Any]) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], LONGEST)[0]:
            for number in self.living:
                os.killpg(number, signal.SIGKILL)
            raise Hangs
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        for number in self.living:
            os.killpg(number, signal.SIGKILL)
        self._process.communicate(timeout=LONGEST)


@dataclass
class Command:
    """A started command.

    Parameters
    ----------
    start : WarmStart
    number : int
        Its process number, and that of its process group.
    out, err : Path
        What it writes.
    """

    start: WarmStart
    number: int
    out: Path
    err: Path

    def kill(self, signal_number: int = signal.SIGKILL) -> None:
        os.kill(self.number, signal_number)

    def wait(self) -> int:
        """Wait for its end and return the exit code, negative for a signal."""
        return self.start.wait(self.number)

    def is_over(self, seconds: float = LONGEST) -> bool:
        """Whether the process ends before that many seconds have passed."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if Path(f"/proc/{self.number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            time.sleep(0.01)
        return False

    def is_alone(self) -> bool:
        """Whether none of the processes that it has started lives on; they may take a moment to end."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            try:
                os.killpg(self.number, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.01)
        return False

    def said(self) -> str:
        """Return all that it has written to stderr, on one line."""
        return " ".join(self.err.read_text(errors="replace").split())
