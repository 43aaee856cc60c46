"""Points from a table of held-out rows, in the columns of a data set's table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from cfbench.errors import DataError
from cfbench.files import at_home
from cfbench.space.dataset import Dataset
from cfbench.space.feature import Kind
from cfbench.space.space import IntArray

MOST_SHOWN = 10
"""A table with more problems than this usually has one cause; the rest is counted."""


def with_held_out(dataset: Dataset, path: Path) -> Dataset:
    """Return a data set whose points are the rows of a table, and whose own rows are all training rows.

    The table has a column for every feature, written as in the data set's own table or by the labels of categories. Its
    label column may be missing; other columns are ignored.

    Raises DataError if it cannot be read, or a value is not allowed, with column and row.
    """
    table = _read(path)
    problems = [f"there is no column {name!r}" for name in dataset.space.names if name not in table.columns]
    X = np.full((len(table), dataset.space.d), np.nan)
    for i, feature in enumerate(dataset.space.features):
        if feature.name not in table.columns:
            continue
        cells = [str(cell).strip() for cell in table[feature.name]]
        if feature.kind is Kind.NUMERICAL:
            X[:, i] = pd.to_numeric(pd.Series(cells), errors="coerce")
            bad = np.flatnonzero(~np.isfinite(X[:, i]))
            allowed = f"a number from {feature.lower:g} to {feature.upper:g}"
        else:
            written = () if dataset.spelling is None else dataset.spelling.categories[i]
            codes = _codes(written, feature.categories)
            X[:, i] = [codes.get(cell, np.nan) for cell in cells]
            bad = np.flatnonzero(np.isnan(X[:, i]))
            allowed = ", ".join(repr(one) for one in (written or feature.categories)[:12])
        problems += [f"column {feature.name!r}, row {row + 1}: {cells[row]!r}; allowed: {allowed}" for row in bad]
    y = _classes(table, dataset, problems)
    if problems:
        more = f"\n- and {len(problems) - MOST_SHOWN} more" if len(problems) > MOST_SHOWN else ""
        raise DataError(f"{path} cannot be used:" + "".join(f"\n- {one}" for one in problems[:MOST_SHOWN]) + more)
    points = replace(dataset, name=str(path), X=X, y=y)  # it refuses what is outside the intervals
    X, y = np.concatenate([dataset.X, points.X]), np.concatenate([dataset.y, points.y])
    return replace(dataset, X=X, y=y, held_out=len(points.X))


def _read(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_csv(at_home(path), dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # pandas's parser errors are values
        raise DataError(f"{path} cannot be read: {error}. It must be comma-separated text in UTF-8") from None
    table.columns = table.columns.str.strip()
    if not len(table):
        raise DataError(f"{path} has no rows; it needs a row for every point")
    return table


def _codes(written: tuple[str, ...], labels: tuple[str, ...]) -> dict[str, int]:
    """Return the codes of cells, as the table writes them or by their labels."""
    return {cell: code for cells in (labels, written) for code, cell in enumerate(cells)}


def _classes(table: pd.DataFrame, dataset: Dataset, problems: list[str]) -> IntArray:
    """Return the class codes of the label column; those of a table without one are 0 and not used."""
    spelling = dataset.spelling
    if spelling is None or spelling.label not in table.columns:
        return np.zeros(len(table), dtype=np.int64)
    codes = _codes(spelling.classes, dataset.class_labels)
    cells = [str(cell).strip() for cell in table[spelling.label]]
    allowed = ", ".join(map(repr, spelling.classes))
    problems += [
        f"column {spelling.label!r}, row {row + 1}: {cell!r}; allowed: {allowed}"
        for row, cell in enumerate(cells)
        if cell not in codes
    ]
    return np.array([codes.get(cell, 0) for cell in cells], dtype=np.int64)
