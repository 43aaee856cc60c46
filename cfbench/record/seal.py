"""The checksum that every table carries: whether a file is whole is known without decoding it."""

from __future__ import annotations

import zlib

NOT_WHOLE = "it is cut off, damaged, or not from a record"
"""What is said of a file whose checksum does not fit."""
SEAL = b"cfbench-crc32-"
OPEN = b"00000000"
"""A file carries its own checksum behind its last `SEAL`, computed with `OPEN` in its place: parquet's checksums leave
out headers and footer, and pyarrow reads some damaged ones without complaint.
"""


def sealed(data: bytes) -> bytes:
    """Return a file's content with its checksum in the place that was kept for it."""
    head, _, tail = data.rpartition(SEAL + OPEN)
    return head + SEAL + _checksum(data) + tail


def is_whole(data: bytes) -> bool:
    """Whether a file's checksum fits its content."""
    head, _, rest = data.rpartition(SEAL)
    seal, tail = rest[: len(OPEN)], rest[len(OPEN) :]
    return seal == _checksum(head + SEAL + OPEN + tail)


def _checksum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)
