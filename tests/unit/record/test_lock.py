"""One writer a record, and no lock that outlives its holder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.database import WriterLock
from cfbench.record.store import Record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def left_by(path: Path, **holder: Any) -> None:
    """Write what a holder leaves behind that was killed."""
    path.write_text(json.dumps({**holder, "start": "2026-01-01T00:00:00+00:00"}))


def test_a_second_writer_is_refused_with_host_process_and_start(path: Path) -> None:
    lock = WriterLock.acquire(path)
    start = json.loads(path.read_text())["start"]
    with pytest.raises(RecordError) as refusal:
        WriterLock.acquire(path)
    for part in (f"process {os.getpid()} on {socket.gethostname()}", start, str(path.parent), "--results"):
        assert part in str(refusal.value)
    lock.release()
    lock.release()
    assert path.read_bytes() == b""
    WriterLock.acquire(path).release()


@pytest.mark.slow
def test_another_process_is_refused_and_its_lock_ends_with_its_kill(
    tmp_path: Path, start_writer: Callable[..., Any]
) -> None:
    results = tmp_path / "results"
    writer = start_writer(results)
    assert writer.opening == "open"
    with pytest.raises(RecordError, match=f"process {writer.process.pid} on "):
        Record.open(results, write=True)
    assert Record.open(results).summaries() == {}  # reading needs no lock
    writer.close()
    assert json.loads((results / "lock").read_text())["pid"] == writer.process.pid
    with Record.open(results, write=True):
        pass


@pytest.mark.slow
def test_an_orphan_of_a_dead_writer_does_not_keep_the_lock(path: Path) -> None:
    source = (
        "import os, signal, sys; from pathlib import Path; from cfbench.record.database import WriterLock\n"
        "lock = WriterLock.acquire(Path(sys.argv[1])); child = os.fork()\n"
        "if child == 0: os.close(1); signal.pause()\n"
        "print(child, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", source, str(path)], stdout=subprocess.PIPE, text=True, check=False)
    try:
        WriterLock.acquire(path).release()
    finally:
        os.kill(int(done.stdout), 9)


def test_on_a_network_disk_another_machines_lock_is_respected(path: Path) -> None:
    left_by(path, host="far-away", pid=1234)
    with pytest.raises(RecordError, match=r"process 1234 on far-away.*If that process has ended, delete .*lock"):
        WriterLock.acquire(path, on_network=True)
    WriterLock.acquire(path).release()  # on a disk of this machine, its kernel knows better
    WriterLock.acquire(path, on_network=True).release()


@pytest.mark.parametrize("on_network", [False, True])
def test_the_lock_of_a_killed_process_of_this_machine_is_taken_over(path: Path, on_network: bool) -> None:
    left_by(path, host=socket.gethostname(), pid=1)
    WriterLock.acquire(path, on_network=on_network).release()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "host": "h"}', b"\xff" * 5000])
def test_nonsense_in_the_file_is_no_lock(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    WriterLock.acquire(path, on_network=True).release()


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)  # no file system without them can be mounted in a test
    with pytest.raises(RecordError, match="cannot be written: No locks available"):
        Record.open(tmp_path / "results", write=True)
