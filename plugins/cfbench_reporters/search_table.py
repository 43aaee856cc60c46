"""From the record's data frame of searches back to a table in the record's schema, to be kept as an artifact."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
import pyarrow as pa

from cfbench.record import SEARCH_SCHEMA


def search_table(searches: pd.DataFrame) -> pa.Table:
    """Return `searches` in the columns and types of ``SEARCH_SCHEMA``, absent numbers as nulls."""
    columns = []
    for field in SEARCH_SCHEMA:
        values: Iterable[Any] = searches[field.name]
        if field.name == "candidates":
            values = [list(candidates) for candidates in values]
        elif field.name == "anytime":
            values = [[{"queries": queries, "loss": loss} for queries, loss in pairs] for pairs in values]
        elif field.name == "figures":
            values = [list(figures.items()) for figures in values]
        # A NaN is an absent number in a plain column; inside a vector it is what the searcher answered.
        columns.append(pa.array(values, type=field.type, from_pandas=not pa.types.is_nested(field.type)))
    return pa.table(columns, schema=SEARCH_SCHEMA)
