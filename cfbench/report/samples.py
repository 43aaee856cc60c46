"""The results of searches that took a number of samples for K."""

from __future__ import annotations

import pandas as pd

WITHOUT = {"k": "none", "ck": "c"}
"""What an objective is without any samples."""


def of_samples(rows: pd.DataFrame, part: str, m: int) -> pd.DataFrame:
    """Return the rows of searches for `part` (k or ck) with `m` samples; with 0, of those that leave K out."""
    if m == 0:
        return rows[rows["robustness"] == WITHOUT[part]]
    return rows[(rows["robustness"] == part) & (rows["m"] == m)]
