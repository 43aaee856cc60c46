"""Commands in processes of their own, forked by multiprocessing's server, which has loaded cfbench once for all."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

LONGEST = 300.0
"""Seconds after which something counts as hanging; all of it takes a few, and many on a busy machine."""

LOADED = (
    "pytest",
    "sklearn.ensemble",
    "cfbench.cli.leaderboard",
    "cfbench.cli.run",
    "cfbench.running.session",
    "cfbench.record.frames",
    "cfbench.board.text",
    "cfbench_reporters.console",
    "cfbench_reporters.tracking",
)
"""What every run imports; none of them starts a thread."""

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([*LOADED])


class Hangs(AssertionError):
    """A process has not done in `LONGEST` seconds what it does in a few."""


@dataclass
class Command:
    """A started command.

    It leads a process group of its own, and writes to `out` and `err`.
    """

    process: BaseProcess
    out: Path
    err: Path

    @property
    def number(self) -> int:
        """Its process number, and that of its process group."""
        assert self.process.pid is not None
        return self.process.pid

    def kill(self, signal_number: int = signal.SIGKILL) -> None:
        os.kill(self.number, signal_number)

    def kill_all(self, signal_number: int = signal.SIGKILL) -> None:
        """Send a signal to it and all that it has started; what has ended stays as it is."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.number, signal_number)

    def wait(self) -> int:
        """Wait for its end and return the exit code, negative for a signal."""
        if not self.is_over():
            raise Hangs
        assert self.process.exitcode is not None
        return self.process.exitcode

    def is_over(self, seconds: float = LONGEST) -> bool:
        """Whether the process ends before that many seconds have passed."""
        self.process.join(seconds)
        return self.process.exitcode is not None

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


def start(
    words: Sequence[str],
    folder: Path,
    streams: tuple[Path, Path],
    environment: Mapping[str, str],
    limits: dict[str, int],
) -> Command:
    """Start a command of cfbench.

    It works in `folder` and writes to the two `streams`. `environment` is added to that of this process; `limits` are
    those of `resource`, by their names.
    """
    process = _context.Process(target=_command, args=[list(words), folder, streams, dict(environment), limits])
    process.start()
    return Command(process, *streams)


def _command(
    words: list[str], folder: Path, streams: tuple[Path, Path], environment: dict[str, str], limits: dict[str, int]
) -> None:
    """Be the command: as a shell in the foreground would start it, whatever this test suite has inherited."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])  # the server may have been started while signals were held back
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signal_number, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(streams, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.chdir(folder)
    os.environ.update(environment)
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    sys.argv = ["cfbench", *words]
    sys.modules["__main__"] = types.ModuleType("__main__")  # its workers would import pytest's otherwise
    from cfbench.cli import main

    main()
