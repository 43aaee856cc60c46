"""The training rows that results are held against."""

from __future__ import annotations

from cfbench import CellContext, FloatArray


def target_rows(context: CellContext) -> FloatArray:
    """Return the training rows that the data label with the target class, shape (n, d)."""
    dataset = context.dataset
    rows: FloatArray = dataset.X[context.train[dataset.y[context.train] == dataset.target]]
    return rows
