"""What several metrics work with: random streams, and training rows."""

from __future__ import annotations

from cfbench import CellContext
from cfbench.digests import digest_of
from cfbench.space import FloatArray

_BITS = 0xFFFF_FFFF_FFFF_FFFF


def stream_of(purpose: str, context: CellContext, row_id: int) -> int:
    """Return the key, 64 bits, of a factual point's stream: it depends on study seed, data set and row."""
    return int(digest_of(["metric", purpose, context.seed, context.dataset.name, row_id]), 16) & _BITS


def target_rows(context: CellContext) -> FloatArray:
    """Return the training rows that the data label with the target class, shape (n, d)."""
    dataset = context.dataset
    rows: FloatArray = dataset.X[context.train[dataset.y[context.train] == dataset.target]]
    return rows
