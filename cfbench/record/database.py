"""The SQLite database of a record: opened for the one writer or for readers, with the settings that keep it safe.

While a run writes, the database is in WAL mode: commits go to ``record.db-wal``, and readers see the last commit
without waiting. WAL needs memory that processes share, which network file systems lack: there, a rollback journal
does the same more slowly. When the writer ends, everything is in ``record.db`` alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from cfbench.errors import RecordError
from cfbench.files import make_directory
from cfbench.record.cells import TABLES
from cfbench.record.files import DATABASE_NAME, check_directory, explained, refuse_device
from cfbench.record.schema import PREPARATIONS, SCHEMA_VERSION, STUDY
from cfbench.study.protocol import PROTOCOL_VERSION

APPLICATION = 0x43464245
"""Stands in the file's header (application_id): a database with another number is not a record."""
WAIT = 60.0
"""Seconds to wait for another process that holds the database, such as a reader in rollback mode."""
WAIT_AT_END = 2.0
"""Seconds to wait for readers before the database is left in WAL mode, which the next writer ends."""
MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "lustre", "gpfs", "beegfs", "ceph",
            "glusterfs", "orangefs", "vboxsf", "virtiofs", "fuse"}  # fmt: skip
"""File systems on which processes of several machines may meet; of fuse.NAME, `fuse` is looked up."""
_VFS = ""
"""SQLite's layer for files; a test names one that has no shared memory."""


class WriterLock:
    """The right to write a record, from `acquire` to `release`; `descriptor` is the open, locked file.

    The kernel's lock on the open file decides among the processes of one machine: a killed writer's lock is free at
    once. On a network disk the kernels of two machines may not know of each other's locks. There, what the file says
    counts, too.
    """

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


class Database:
    """A connection to a record's database.

    `path` is its file, `lock` the writer's. `copy` is the place of a copy, if the file could not be read in its place.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, lock: WriterLock | None = None) -> None:
        self.connection = connection
        self.path = path
        self.lock = lock
        self.copy: tempfile.TemporaryDirectory[str] | None = None
        self._file = path.stat() if lock is not None else None
        # A reader that is dropped without `close` holds no file open, though Python's connections are in a cycle.
        weakref.finalize(self, connection.close).atexit = False

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Write all that the block writes, or nothing; it is on the disk at the end. Blocks may be nested."""
        is_nested = self.connection.in_transaction
        if is_nested:
            yield self.connection
            return
        with explained(self.path, "written"):
            self.connection.execute("BEGIN IMMEDIATE")
            with self.connection:  # commits, or rolls back
                yield self.connection
        self.check_place()

    def check_place(self) -> None:
        """Raise RecordError, once, if the file that is written was deleted or replaced: its content is out of reach."""
        if self._file is None:
            return
        same = False
        with contextlib.suppress(OSError):
            same = os.path.samestat(self._file, self.path.stat())
        if not same:
            self._file = None
            raise RecordError(
                f"{self.path} was deleted or replaced while this process wrote it: what it held is lost, unless there "
                "is a copy. Put the copy back, or give the same command again to search anew"
            )

    def close(self) -> None:
        """Close the database; a writer's is in one file then, and its lock is free."""
        lock, self.lock = self.lock, None
        if lock is None:
            self.connection.close()
            if self.copy is not None:
                self.copy.cleanup()
            return
        try:
            self._end_writing()
            self.check_place()
        finally:
            self.connection.close()
            with contextlib.suppress(OSError):  # a full or a vanished disk: the lock ends with this process anyway
                lock.release()

    def _end_writing(self) -> None:
        """Move everything into the one file, and leave WAL mode, so that a read-only folder or a copy can be read."""
        with contextlib.suppress(sqlite3.Error):  # readers are at it, or the disk is full: the next writer does it
            self.connection.execute(f"PRAGMA busy_timeout = {int(WAIT_AT_END * 1000)}")
            # TRUNCATE: all commits are moved from the log to the database, and the log is emptied.
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.connection.execute("PRAGMA journal_mode = DELETE")


def open_for_writing(folder: Path) -> Database:
    """Open the record in `folder` for writing; create it if there is none, and lock it."""
    check_directory(folder, write=True)
    path = folder / DATABASE_NAME
    with explained(folder, "written"):
        make_directory(folder)
        lock = WriterLock.acquire(folder / "lock", on_network=file_system(folder) in _NETWORK)
    with contextlib.ExitStack() as on_error:
        on_error.callback(lock.release)
        with explained(path, "written"):
            check_directory(folder, write=True)  # again: another process may have been there meanwhile
            if path.exists() and not os.access(path, os.W_OK):
                path.open("r+b").close()  # raises what the system says; SQLite would open it for reading alone
            connection = _connect(path, "rwc")
            on_error.callback(connection.close)
            _prepare(connection, folder)
            on_error.pop_all()
            return Database(connection, path, lock)


def _prepare(connection: sqlite3.Connection, folder: Path) -> None:
    is_new = _is_empty(connection)
    if not is_new:
        _check_versions(connection, folder / DATABASE_NAME)
    # DELETE: a rollback journal, which is deleted at each commit. WAL: see above; SQLite answers with the mode that it
    # has, which is the old one if the file system has no shared memory.
    wanted = "DELETE" if file_system(folder) in _NETWORK else "WAL"
    connection.execute(f"PRAGMA journal_mode = {wanted}")
    # FULL: a commit waits until the disk has it, so that no power cut takes back what was reported.
    connection.execute("PRAGMA synchronous = FULL")
    if is_new:
        create_tables(connection)
    else:
        connection.execute(PREPARATIONS.create.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether a database has no table: it is new, or a kill came before its tables were made."""
    return not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def temporary_database() -> sqlite3.Connection:
    """Return a database that ends with this process: without a journal, and without waiting for the disk."""
    connection = readable(sqlite3.connect("", isolation_level=None, check_same_thread=False))  # "": a temporary file
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Make an empty database a record, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table in TABLES:
        connection.execute(table.create)
    versions = {"protocol": PROTOCOL_VERSION, "schema": SCHEMA_VERSION}
    connection.executemany(STUDY.insert, [STUDY.stored({"name": n, "value": str(v)}) for n, v in versions.items()])
    # Two numbers in the file's header that are the application's: what wrote it, and in which version.
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def open_for_reading(folder: Path) -> Database:
    """Open the record in `folder` for reading, also while another process writes it; nothing is changed."""
    check_directory(folder, write=False)
    path = folder / DATABASE_NAME
    with explained(path, "read"):
        try:
            return Database(_checked(_connect(path, "ro"), path), path)
        except sqlite3.OperationalError:
            # A folder that may not be written: the log of a killed run cannot be taken in there, and the memory that
            # readers share cannot be made. Without a log the file is whole by itself, with one a copy is opened.
            logs = [log for end in ("-wal", "-journal") if (log := folder / f"{DATABASE_NAME}{end}").exists()]
            if not any(log.stat().st_size for log in logs):
                # Nothing can change it: no locks are needed.
                return Database(_checked(_connect(path, "ro", "&immutable=1"), path), path)
            copy = tempfile.TemporaryDirectory(prefix="cfbench-record-")
            for file in (path, *logs):
                shutil.copyfile(file, Path(copy.name) / file.name)
            database = Database(_checked(_connect(Path(copy.name) / DATABASE_NAME, "rw"), path), path)
            database.copy = copy
            return database


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _check_versions(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(path: Path, mode: str, more: str = "") -> sqlite3.Connection:
    vfs = f"&vfs={_VFS}" if _VFS else ""
    address = f"file:{quote(str(path.absolute()))}?mode={mode}{more}{vfs}"
    connection = sqlite3.connect(address, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
    return readable(connection)


def readable(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Have texts that are not UTF-8 read as escapes: their row's digest tells the damage, and other rows are read."""
    connection.text_factory = lambda data: data.decode("utf-8", "backslashreplace")
    return connection


def _check_versions(connection: sqlite3.Connection, path: Path) -> None:
    """Raise RecordError if the database is not a record of this version."""
    if _is_empty(connection):
        raise RecordError(f"there is no record in {path.parent} yet: nothing was written; `cfbench run` makes one")
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    schema = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise RecordError(
            f"{path} is a database of something else (application_id {application}): it is left untouched. Name "
            "another results directory with --results"
        )
    found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    tables = {name: sql for kind, name, sql in found if kind == "table"}
    rows = connection.execute("SELECT value FROM study WHERE name = 'protocol'").fetchall() if "study" in tables else []
    protocol = rows[0][0] if rows else "unknown"
    if (protocol, schema) != (str(PROTOCOL_VERSION), SCHEMA_VERSION):
        raise RecordError(
            f"{path} was written by protocol version {protocol:.20}, schema version {schema}; this cfbench has "
            f"protocol version {PROTOCOL_VERSION}, schema version {SCHEMA_VERSION}. Results of different versions are "
            "never mixed: keep that directory for the cfbench that wrote it, and name another one with --results"
        )
    # A record may come from anywhere: with triggers and views, reading a table could run foreign code.
    # Records that are older than preparations lack their table; `_prepare` adds it.
    lacking = {PREPARATIONS.name} - tables.keys()
    ours = {table.name: table.create for table in TABLES if table.name not in lacking}
    if ours.items() - tables.items() or {kind for kind, _, _ in found} - {"table", "index"}:
        raise RecordError(
            f"{path} is no database that cfbench wrote: it has other tables, or does things of its own (triggers, "
            "views). It is left untouched; name another results directory with --results"
        )


def file_system(folder: Path) -> str:
    """Return the type of the file system that `folder` is on, such as "ext4" or "nfs4"; empty if it is not known."""
    try:
        lines = MOUNTS.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place, found = os.path.realpath(folder), ("", "")
    for line in lines:
        before, _, after = line.partition(" - ")
        mounted = before.split()[4].replace("\\040", " ")
        inside = place == mounted or place.startswith(mounted.rstrip("/") + "/")
        if inside and len(mounted) >= len(found[0]):
            found = (mounted, after.split()[0].partition(".")[0])
    return found[1]
