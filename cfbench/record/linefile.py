"""A file of lines that grows at its end: a line is on the disk before `append` returns."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from cfbench.files import make_directory, sync_directory, write_all, write_atomically
from cfbench.record.lines import Line, Scan, encode_line, scan


class LineFile:
    """One file of lines.

    Any number of readers may read while one writer appends. Nothing is kept open between calls: a record has as many
    journals as cells under way.

    Parameters
    ----------
    path : Path
        The file need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sound_size = -1  # size after our own last append; any other size means that somebody else has written

    def read(self) -> Scan:
        """Read all lines; none where there is no file. Repairs nothing."""
        try:
            return scan(self.path.read_bytes())
        except FileNotFoundError:
            return Scan()

    def append(self, payload: bytes) -> Line:
        """Write one line to the disk, as `append_all` does."""
        return self.append_all([payload])[0]

    def append_all(self, payloads: Sequence[bytes]) -> list[Line]:
        """Write lines to the disk, which is waited for once: all of them are there when this returns.

        A torn line at the end, from an earlier kill, is cut off first. Where the disk refuses, what was written of
        these lines is cut off again, so that the next line stands on its own.

        Raises
        ------
        OSError
            If the disk refuses.
        """
        make_directory(self.path.parent)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            if size != self._sound_size and size > 0:
                size = self.read().end
                os.ftruncate(descriptor, size)
            lines: list[Line] = []
            data = b""
            for payload in payloads:
                start = size + len(data)
                data += encode_line(payload)
                lines.append(Line(start, size + len(data), payload))
            self._sound_size = -1
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
            self._sound_size = size + len(data)
        finally:
            os.close(descriptor)
        if size == 0:
            sync_directory(self.path.parent)
        return lines

    def rewrite(self, payloads: Iterable[bytes]) -> None:
        """Replace the whole file atomically."""
        data = b"".join(encode_line(payload) for payload in payloads)
        write_atomically(self.path, data)
        self._sound_size = len(data)

    def remove(self) -> None:
        """Delete the file, if it exists."""
        self.path.unlink(missing_ok=True)
        self._sound_size = -1
