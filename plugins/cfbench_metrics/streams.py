"""The random streams of metrics, named by what they are for."""

from __future__ import annotations

from cfbench import CellContext, digest_of

_BITS = 0xFFFF_FFFF_FFFF_FFFF


def stream_of(purpose: str, context: CellContext, row_id: int) -> int:
    """Return the key, 64 bits, of a factual point's stream: it hangs on the study's seed, the data set and the row."""
    return int(digest_of(["metric", purpose, context.seed, context.dataset.name, row_id]), 16) & _BITS
