"""Lines that prove themselves: length, checksum, JSON. The record's journals and its indexes consist of them.

A line that a kill cut short has no end and is dropped; a line that was damaged later fails its checksum and is
reported, and the lines around it stay.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

_HEADER = re.compile(rb"(\d{1,15}) ([0-9a-f]{8}) ")


@dataclass(frozen=True)
class Line:
    """A sound line.

    Parameters
    ----------
    start, stop : int
        Where it stands in its file, its end-of-line included.
    payload : bytes
        The JSON text.
    """

    start: int
    stop: int
    payload: bytes


@dataclass
class Scan:
    """What a file of lines holds.

    Parameters
    ----------
    lines : list of Line
    damaged : list of int
        Numbers of the damaged lines, from 1.
    end : int
        Where the last complete line ends; a torn line starts there.
    """

    lines: list[Line] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    end: int = 0


def pack(value: Any) -> bytes:
    """Return JSON text in ASCII without line breaks; floats round-trip exactly.

    JSON has no NaN and no infinities: they become the strings ``nan``, ``inf`` and ``-inf``, which ``float`` reads.
    """
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_spelt(value), separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def encode_line(payload: bytes) -> bytes:
    """Frame a payload of :func:`pack` as a line."""
    return b"%d %08x %b\n" % (len(payload), zlib.crc32(payload), payload)


def scan(data: bytes) -> Scan:
    """Find the sound lines, the damaged ones, and where a torn line starts."""
    found = Scan()
    number = 0
    while (newline := data.find(b"\n", found.end)) >= 0:
        number += 1
        line = _line_at(data, found.end)
        if line is not None:
            found.lines.append(line)
        if line is None or data[line.stop - 1 : line.stop] != b"\n":
            found.damaged.append(number)
        found.end = newline + 1 if line is None else line.stop
    return found


def walk(file: BinaryIO) -> Iterator[tuple[int, Line | None]]:
    """Yield number and content of every complete line, None for a damaged one, as `scan` finds them.

    One line is in memory at a time: an index of many cells is as large as all the rest that a run holds.
    """
    start = 0
    for number, data in enumerate(file, start=1):
        if not data.endswith(b"\n"):
            return  # torn
        line = _line_at(data, 0)
        whole = line is not None and line.stop == len(data)
        yield number, Line(start, start + len(data), line.payload) if line is not None and whole else None
        start += len(data)


def _line_at(data: bytes, start: int) -> Line | None:
    header = _HEADER.match(data, start)
    if header is None:
        return None
    stop = header.end() + int(header[1])
    payload = data[header.end() : stop]
    if stop >= len(data) or zlib.crc32(payload) != int(header[2], 16):
        return None
    return Line(start, stop + 1, payload)


def _spelt(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _spelt(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelt(item) for item in value]
    return value
