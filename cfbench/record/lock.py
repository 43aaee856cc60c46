"""One writer per record: a lock that names its holder and that ends with it.

The kernel's lock on the open file decides among the processes of one machine: a killed writer's lock is free at once.
On a network disk the kernels of two machines may not know of each other's locks. There, what the file says counts, too.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import weakref
from datetime import UTC, datetime
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.record.files import refuse_device


class WriterLock:
    """The right to write a record, from `acquire` to `release`; `descriptor` is the open, locked file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        _taken.add(self)

    @classmethod
    def acquire(cls, path: Path, *, on_network: bool = False) -> WriterLock:
        """Take the lock; raise RecordError, which names the holder, if another process has it.

        `on_network` says whether other machines may write there.
        """
        refuse_device(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            holder = _holder(descriptor)
            who = "process {pid} on {host} has been writing to it since {start}".format(**holder) if holder else ""
            refusal = f"the record {path.parent} is in use: {who or 'another process writes to it'}. Wait for its end, "
            refusal += "stop it, or use another --results directory"
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordError(refusal) from None
            this = {"host": socket.gethostname(), "pid": os.getpid()}
            if on_network and holder and holder["host"] != this["host"]:
                raise RecordError(f"{refusal}. If that process has ended, delete {path}")
            said = {**this, "start": datetime.now(UTC).isoformat(timespec="seconds")}
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(said).encode("ascii") + b"\n", 0)
            os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock back; the file stays, empty, since deleting it could delete a newer holder's."""
        try:
            if self._descriptor >= 0:
                os.ftruncate(self._descriptor, 0)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file and leave what it says: in a child process, the parent's lock must not be inherited."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


_taken: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    # A forked child shares the open file and with it the lock: a searcher's orphan would keep a dead run's record shut.
    for lock in _taken:
        lock.abandon()


os.register_at_fork(after_in_child=_leave_to_parent)


def _holder(descriptor: int) -> dict[str, object] | None:
    """Return what the file says; None if it is empty or something else."""
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return {name: said[name] for name in ("host", "pid", "start")}
    except (ValueError, TypeError, KeyError):
        return None
