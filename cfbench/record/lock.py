"""One writer a record: a lock that names its holder and that does not outlive it.

The kernel's lock on the open file decides among the processes of one machine, so that a killed writer's lock is free at
once and a reused process number cannot mislead. What is written in the file is for people, and decides where the
kernel's lock cannot: between machines that share a network file system.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import weakref
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from cfbench.errors import RecordError
from cfbench.record.files import refuse_device

_UNSUPPORTED = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


@dataclass(frozen=True)
class Holder:
    """Who holds a lock.

    Parameters
    ----------
    host : str
    pid : int
    start : str
        When the lock was taken, UTC.
    boot : str
        The kernel's boot identifier: the same in all containers of a machine, another after a restart; may be empty.
    ticks : str
        When the process started, in the kernel's count: tells it from a later process of the same number; may be empty.
    """

    host: str
    pid: int
    start: str
    boot: str = ""
    ticks: str = ""

    @classmethod
    def this_process(cls) -> Holder:
        """Describe the process that asks."""
        start = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(socket.gethostname(), os.getpid(), start, _boot(), _ticks(os.getpid()))

    def on_this_machine(self) -> bool:
        """Whether the holder ran on this machine, in this container or another one, before or after a restart."""
        return self.host == socket.gethostname() or (self.boot != "" and self.boot == _boot())

    def is_alive(self) -> bool:
        """Whether the holder, of this machine, still runs."""
        if self.boot != _boot():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.ticks == _ticks(self.pid)


class WriterLock:
    """The right to write a record, from `acquire` to `release`.

    Parameters
    ----------
    descriptor : int
        The open, locked file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        _held.add(self)

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock, or say who has it.

        Raises
        ------
        RecordError
            If another process has it; the message names its host, its number and its start.
        OSError
            If the file cannot be opened or written.
        """
        descriptor = _open_locked(path)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(asdict(Holder.this_process())).encode("ascii") + b"\n", 0)
            os.fsync(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Give the lock back; the file stays, empty, since deleting it could delete a newer holder's."""
        if self._descriptor < 0:
            return
        try:
            os.ftruncate(self._descriptor, 0)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file without a word: in a child process, the parent's lock must stay and not be inherited."""
        descriptor, self._descriptor = self._descriptor, -1
        _held.discard(self)
        if descriptor >= 0:
            os.close(descriptor)


_held: weakref.WeakSet[WriterLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    # A forked child shares the open file and with it the lock: a searcher's orphan would keep a dead run's record shut.
    for lock in list(_held):
        lock.abandon()


os.register_at_fork(after_in_child=_leave_to_parent)


def _open_locked(path: Path) -> int:
    while True:
        refuse_device(path)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            busy = not _kernel_lock(descriptor, path)
            if busy:
                raise RecordError(_refusal(path, _read_holder(descriptor)))
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except FileNotFoundError:
            pass  # somebody deleted the file between the two steps: what we have locked is no longer the lock
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _kernel_lock(descriptor: int, path: Path) -> bool:
    """Lock the open file; whether that worked and the written holder, if any, is gone."""
    holder = None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder = _read_holder(descriptor)
        decides = True
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        holder = _read_holder(descriptor)
        decides = False
    if holder is None:
        return True
    if holder.on_this_machine():
        return decides or not holder.is_alive()
    raise RecordError(
        f"{_refusal(path, holder)}. From here nobody can tell whether it still runs: if it does not, delete {path}"
    )


def _read_holder(descriptor: int) -> Holder | None:
    """Read what the file says; None where it says nothing, or nothing sensible."""
    try:
        holder = Holder(**json.loads(os.pread(descriptor, 4096, 0)))
        return holder if isinstance(holder.pid, int) else None
    except (ValueError, TypeError):
        return None


def _refusal(path: Path, holder: Holder | None) -> str:
    if holder is None:
        who = "another process writes to it"
    else:
        who = f"process {holder.pid} on {holder.host} has been writing to it since {holder.start}"
    return f"the record {path.parent} is in use: {who}. Wait for its end, stop it, or use another --results directory"


def _boot() -> str:
    return _proc("sys/kernel/random/boot_id")


def _ticks(pid: int) -> str:
    # The command's name, in parentheses, may hold spaces and parentheses of its own; the fields count from behind it.
    fields = _proc(f"{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _proc(name: str) -> str:
    try:
        return Path("/proc", name).read_text("ascii", errors="replace").strip()
    except OSError:
        return ""
