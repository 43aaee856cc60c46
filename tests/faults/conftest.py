"""Runs that are processes of their own, and a gate at which one of their searches waits for the test."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cfbench.harness.store.cells import Cells
from cfbench.harness.store.record import Record
from cfbench.harness.store.record_digest import record_digest
from cfbench.harness.store.schema import TIME_COLUMNS
from cfbench.harness.store.tables import rows_of

HERE = Path(__file__).parent
PLUGINS = (HERE.parent / "toys" / "toy_plugin.py", HERE / "fault_plugin.py")
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


@dataclass
class Study:
    """A study in a folder of its own, and ways to run it.

    Parameters
    ----------
    start : WarmStart
    folder : Path
    """

    start: WarmStart
    folder: Path
    searchers: tuple[str, ...] = ("honest",)
    model: str = "threshold"
    folds: tuple[int, ...] = (0,)
    points: int = 2
    repetitions: int = 2
    workers: int = 1
    time_limit: str = "none"
    tracking: str = "none"
    environment: dict[str, str] = field(default_factory=dict)
    _started: int = 0

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    def begin(self, *more: str, results: Path | None = None, **limits: int) -> Command:
        """Start ``cfbench run``; limits are those of `resource`, by their names."""
        words = ["run", "--dataset", "toy", "--model", self.model, "--metric", "success"]
        words += [word for path in PLUGINS for word in ("--plugin", str(path))]
        words += [word for name in self.searchers for word in ("--searcher", name)]
        words += [word for fold in self.folds for word in ("--fold", str(fold))]
        words += ["--points", str(self.points), "--repetitions", str(self.repetitions)]
        words += ["--workers", str(self.workers), "--time-limit", self.time_limit, "--tracking", self.tracking]
        return self.command(*words, "--results", str(results or self.results), *more, **limits)

    def command(self, *words: str, **limits: int) -> Command:
        """Start any command of cfbench."""
        self._started += 1
        out, err = (self.folder / f"{name}-{self._started}" for name in ("out", "err"))
        environment = {
            "CFBENCH_CACHE_DIR": str(self.folder / "cache"),
            "CFBENCH_TEST_GATE": str(self.gate),
            "COLUMNS": "300",
            **self.environment,
        }
        order = {
            "run": words,
            "cwd": str(self.folder),
            "out": str(out),
            "err": str(err),
            "environment": environment,
            "limits": limits,
        }
        return Command(self.start, self.start.run(order), out, err)

    def run(self, *more: str, **options: Any) -> tuple[int, str]:
        """Run to the end; return the exit code and what was said on stderr."""
        command = self.begin(*more, **options)
        return command.wait(), command.said()

    def undisturbed(self) -> dict[str, str]:
        """Return the digest of a record of the same study that nothing has happened to."""
        results = self.folder / "undisturbed"
        if not results.exists():
            assert self.run(results=results)[0] == 0
        return record_digest(results)

    def digest(self) -> dict[str, str]:
        return record_digest(self.results)

    def spoilt(self) -> list[str]:
        """Return what differs from the undisturbed record, of cells and of rows, times aside."""
        whole = self.undisturbed()
        if self.digest() == whole:
            return []
        disturbed, expected = (_said_in(folder) for folder in (self.results, self.folder / "undisturbed"))
        assert disturbed != expected, "the digests differ, and nothing that they are of"
        return [
            f"{where}: {disturbed.get(where)} for {expected.get(where)}"
            for where in sorted(disturbed | expected)
            if disturbed.get(where) != expected.get(where)
        ]

    def done(self) -> dict[tuple[str, int, int], str]:
        """Return the searches that the record holds, with their statuses."""
        with Record.open(self.results) as record:
            keys = {*record.summaries(), *record.pending()}
            return {(key, *search): status for key in keys for search, status in record.done(key).items()}


def _said_in(results: Path) -> dict[str, str]:
    """Return all that a digest of the record is of, value by value."""
    said = {}
    cells = Cells(results / "cells", pytest.fail)
    for key in cells.keys():  # noqa: SIM118 - no mapping: the keys are read from the disk
        stored = cells.read(key)
        assert stored is not None
        cell = stored[0]
        said[key] = repr((asdict(cell.info), cell.content, cell.eligible))
        for row in rows_of(cell.table):
            where = f"{key} point {row['point']} repetition {row['repetition']}"
            said |= {f"{where} {column}": repr(value) for column, value in row.items() if column not in TIME_COLUMNS}
    return said


class Gate:
    """Where searches, fits or reports of `fault_plugin` stop as long as it is closed for them.

    Parameters
    ----------
    folder : Path
    """

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


class Disk:
    """A mounted file system in memory.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def remount(self, options: str) -> None:
        _mount("-o", f"remount,{options}", str(self._folder))


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[Disk | None]:
    """Mount a file system of that size on `folder`; None where that is not permitted."""
    folder.mkdir(exist_ok=True)
    try:
        _mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)


@pytest.fixture(scope="session")
def warm_start() -> Iterator[WarmStart]:
    start = WarmStart()
    yield start
    start.close()


@pytest.fixture
def study(warm_start: WarmStart, tmp_path: Path) -> Study:
    (tmp_path / "cache").mkdir(mode=0o700)
    return Study(warm_start, tmp_path)


@pytest.fixture
def gate(study: Study) -> Iterator[Gate]:
    gate = Gate(study.gate)
    yield gate
    gate.end()


SmallDisk = Callable[[Path, str], AbstractContextManager[Disk | None]]


@pytest.fixture
def small_disk() -> SmallDisk:
    """Return what mounts a disk of some size on a folder; it yields None where that is not permitted."""
    return mounted
