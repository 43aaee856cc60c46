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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from cfbench.errors import RecordError
from cfbench.record.lock import Holder, WriterLock
from cfbench.record.store import Record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def left_by(path: Path, **changes: Any) -> None:
    """Write what a holder leaves behind that was killed."""
    path.write_text(json.dumps(asdict(replace(Holder.this_process(), **changes))))


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


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


def test_an_orphan_of_a_dead_writer_does_not_keep_the_lock(path: Path) -> None:
    source = (
        "import os, signal, sys; from pathlib import Path; from cfbench.record.lock import WriterLock\n"
        "lock = WriterLock.acquire(Path(sys.argv[1])); child = os.fork()\n"
        "if child == 0: os.close(1); signal.pause()\n"
        "print(child, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", source, str(path)], stdout=subprocess.PIPE, text=True, check=False)
    try:
        WriterLock.acquire(path).release()
    finally:
        os.kill(int(done.stdout), 9)


def test_another_machines_lock_is_respected(path: Path) -> None:
    left_by(path, host="far-away", boot="another", pid=1234)
    with pytest.raises(RecordError, match=r"process 1234 on far-away.*if it does not, delete .*lock"):
        WriterLock.acquire(path)
    path.unlink()
    WriterLock.acquire(path).release()


@pytest.mark.parametrize(
    "changes",
    [{"host": "container-7"}, {"boot": "before-the-restart"}, {"pid": 1}],
    ids=["another container of this machine", "this machine before a restart", "a reused process number"],
)
def test_a_stale_lock_is_taken_over(path: Path, changes: dict[str, Any]) -> None:
    left_by(path, **changes)
    WriterLock.acquire(path).release()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "host": "h", "start": ""}', b"\xff" * 5000])
def test_nonsense_in_the_file_is_no_lock(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    WriterLock.acquire(path).release()


def test_whether_a_holder_lives() -> None:
    this = Holder.this_process()
    assert this.on_this_machine()
    assert this.is_alive()
    assert not replace(this, pid=dead_pid()).is_alive()
    assert not replace(this, boot="before-the-restart").is_alive()
    assert not replace(this, ticks="1").is_alive()  # the number was reused
    assert not replace(this, host="far-away", boot="").on_this_machine()


def test_without_kernel_locks_the_file_decides(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)  # no file system without them can be mounted in a test
    lock = WriterLock.acquire(path)
    with pytest.raises(RecordError, match=f"process {os.getpid()} on "):
        WriterLock.acquire(path)
    lock.release()
    left_by(path, pid=dead_pid())
    WriterLock.acquire(path).release()
