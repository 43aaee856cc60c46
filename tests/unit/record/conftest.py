"""Records made by hand, and a process that writes a record on command."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.record.store import Record
from cfbench.registry.events import CellInfo
from tests.unit.running.conftest import toys  # noqa: F401 - a fixture of tests that run studies

MakeRow = Callable[..., dict[str, Any]]


class Writer:
    """A process that holds a record and does what it is told, one JSON line a command; it answers each."""

    SOURCE = """
import json, os, resource, sys
from cfbench.errors import RecordError
from cfbench.registry.events import CellInfo
from cfbench.record.store import Record
import cfbench.problem.outcome  # before the user changes: the new one may not read the libraries
path, user, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if user:
    os.setgroups([]), os.setgid(user), os.setuid(user)
try:
    record = Record.open(path, write=True)
    print(json.dumps("open"), flush=True)
    if size:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    for line in sys.stdin:
        command, argument = json.loads(line)
        try:
            if command == "append":
                record.append(argument)
            elif command == "finish":
                record.finish(CellInfo(**argument), {"a": 1}, 9)
            answer = "done"
        except RecordError as error:
            answer = str(error)
        print(json.dumps(answer), flush=True)
    record.close()
except RecordError as error:
    print(json.dumps(str(error)), flush=True)
"""

    def __init__(self, path: Path, *, user: int = 0, largest_file: int = 0) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.SOURCE, str(path), str(user), str(largest_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.opening = self.answer()

    def send(self, command: str, argument: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([command, argument]) + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """Return the next answer; empty where the process is gone."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return str(json.loads(line)) if line.endswith("\n") else ""

    def ask(self, command: str, argument: Any) -> str:
        self.send(command, argument)
        return self.answer()

    def end(self) -> None:
        """Send no more: the process ends when it has done all that was sent."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):  # what was sent and never read
                assert pipe is not None
                pipe.close()


@pytest.fixture
def start_writer() -> Iterator[Callable[..., Writer]]:
    """Return what starts writers; they end with the test."""
    writers: list[Writer] = []

    def start(path: Path, **options: int) -> Writer:
        writers.append(Writer(path, **options))
        return writers[-1]

    yield start
    for writer in writers:
        writer.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def small_row(make_row: MakeRow) -> MakeRow:
    """Return what makes rows that JSON can carry to another process."""
    return lambda *search: make_row(
        *search, x=[0.5, 2.5], z=[1.0, 2.0], candidates=[[1.0, 2.0]], figures={"bound": 0.5}
    )


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that every user may enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="cfbench-record-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def two_cells(path: Path, make_row: MakeRow, info: CellInfo) -> tuple[str, str]:
    """Write two finished cells of three searches, and return their keys."""
    keys = info.key, "f" * 32
    with Record.open(path, write=True) as record:
        for key in keys:
            record.append_all([make_row(point, cell_key=key) for point in range(3)])
            record.finish(replace(info, key=key), {"a": 1}, 9)
    return keys
