"""An index: one line a cell, the last line of a key counts. It grows by appends and is never needed to find a result.

Whatever stands here can be made again from the tables: a missing or damaged index costs time, not data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from cfbench.files import explained
from cfbench.record.linefile import LineFile
from cfbench.record.lines import Line, pack, scan, walk

_KEY = re.compile(rb'\{"key":"([0-9a-f]{32})"')
_LENGTH_BITS = 40
MOST_STALE = 64
"""So many superseded lines are always tolerated; beyond, an index of mostly superseded lines is rewritten."""


class Index:
    """The lines of an index by their keys.

    Only their places are kept in memory, in as few bytes as will do, so that a record may have any number of cells.

    Parameters
    ----------
    path : Path
    report : callable
        Receives a sentence about every damaged line.
    """

    def __init__(self, path: Path, report: Callable[[str], None]) -> None:
        self._file = LineFile(path)
        self._report = report
        self._places: dict[bytes, int] = {}
        self._lines = 0
        self._loaded = False
        self.damaged = False
        """Whether the file, when it was read last, had damaged lines."""

    def load(self) -> dict[str, bytes]:
        """Read the file anew and return the payload of every key."""
        return dict(self.payloads())

    def payloads(self) -> Iterator[tuple[str, bytes]]:
        """Read the file anew and return key and payload of every cell, in the order of the lines that count.

        The file is read twice, so that neither it nor superseded lines are ever in memory as a whole.
        """
        self._places.clear()
        self._lines, self._loaded, self.damaged = 0, True, False
        with explained(self._file.path, "read"):
            try:
                file = self._file.path.open("rb")
            except FileNotFoundError:
                return
        # What a writer appends or replaces meanwhile is for the next reading: this file stays open.
        with file:
            with explained(self._file.path, "read"):
                self._find(file)
            for place in sorted(self._places.values()):
                start, length = _start_and_length(place)
                with explained(self._file.path, "read"):
                    file.seek(start)
                    data = file.read(length)
                payload = data[data.index(b"{") : -1]
                key = _key_in(payload)
                if key is not None:
                    yield key, payload

    def _find(self, file: BinaryIO) -> None:
        """Note where the lines that count are, and report damaged ones."""
        damaged = []
        for number, line in walk(file):
            self._lines += 1
            key = None if line is None else _key_in(line.payload)
            if line is None:
                damaged.append(f"line {number}")
            elif key is None:
                damaged.append(f"the line at byte {line.start}")
            else:
                self._places[bytes.fromhex(key)] = _place(line)
        for place in damaged:
            self._report(f"{self._file.path}: {place} is damaged; what it said is read from the cells' tables again")
        self.damaged = bool(damaged)

    def contents(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Read the file anew and return key and content of every cell."""
        for key, payload in self.payloads():
            content = _parsed(payload)
            if content is not None:
                yield key, content

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the content of a key; None where there is none."""
        if not self._loaded:
            self.load()
        for _ in range(2):
            place = self._places.get(bytes.fromhex(key))
            if place is None:
                return None
            content = self._read_at(key, *_start_and_length(place))
            if content is not None:
                return content
            self.load()  # a writer has replaced the file since
        return None

    def says(self, key: str, content: Mapping[str, Any]) -> bool:
        """Whether the line of a key holds just this content."""
        known = self.get(key)
        return known is not None and pack(known) == pack({"key": key, **content})

    def put(self, key: str, content: Mapping[str, Any]) -> None:
        """Add a line; it supersedes the earlier one of its key."""
        if not self._loaded:
            self.load()
        with explained(self._file.path, "written"):
            line = self._file.append(pack({"key": key, **content}))
        self._places[bytes.fromhex(key)] = _place(line)
        self._lines += 1
        if self._lines > 2 * len(self._places) + MOST_STALE:
            self.rewrite()

    def rewrite(self) -> None:
        """Replace the file by one without superseded and damaged lines, atomically."""
        payloads = self.load()
        with explained(self._file.path, "written"):
            self._file.rewrite(payload for _, payload in sorted(payloads.items()))
        self.load()

    def _read_at(self, key: str, start: int, length: int) -> dict[str, Any] | None:
        with explained(self._file.path, "read"):
            try:
                with self._file.path.open("rb") as file:
                    file.seek(start)
                    lines = scan(file.read(length)).lines
            except FileNotFoundError:
                return None
        return _parsed(lines[0].payload) if lines and _key_in(lines[0].payload) == key else None


def _place(line: Line) -> int:
    """Return where a line stands, as one number; numbers of lines are in their order in the file."""
    return line.start << _LENGTH_BITS | (line.stop - line.start)


def _start_and_length(place: int) -> tuple[int, int]:
    return place >> _LENGTH_BITS, place & (1 << _LENGTH_BITS) - 1


def _key_in(payload: bytes) -> str | None:
    match = _KEY.match(payload)
    return match[1].decode("ascii") if match else None


def _parsed(payload: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
