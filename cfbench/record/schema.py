"""The record's row: one search, in one versioned schema for every data set.

`PROTOCOL_VERSION` names the rules of the benchmark (folds, judge, seeds); a record of another protocol is refused.
`SCHEMA_VERSION` names the columns below; it stands in every file's metadata.
"""

from __future__ import annotations

import pyarrow as pa

from cfbench.study.protocol import PROTOCOL_VERSION, SCHEMA_VERSION

__all__ = ["MEASURE_SCHEMA", "PROTOCOL_VERSION", "SCHEMA_VERSION", "SEARCH_SCHEMA", "TIME_COLUMNS"]

SEARCH_SCHEMA = pa.schema(
    [
        pa.field("cell_key", pa.string(), nullable=False),
        pa.field("point", pa.int64(), nullable=False),  # position among the fold's eligible points
        pa.field("row_id", pa.int64(), nullable=False),  # row of the data set
        pa.field("repetition", pa.int64(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("x", pa.list_(pa.float64()), nullable=False),
        pa.field("z", pa.list_(pa.float64())),
        pa.field("candidates", pa.list_(pa.list_(pa.float64())), nullable=False),
        pa.field("loss", pa.float64()),  # base loss (Eq. 9); null, like its parts, without a valid result
        pa.field("gower", pa.float64()),
        pa.field("l0", pa.int64()),
        pa.field("cost", pa.float64()),
        pa.field("objective_value", pa.float64()),
        pa.field("search_queries", pa.int64(), nullable=False),
        pa.field("robustness_queries", pa.int64(), nullable=False),
        pa.field("wall_seconds", pa.float64(), nullable=False),
        pa.field("cpu_seconds", pa.float64(), nullable=False),
        pa.field(
            "anytime",
            pa.list_(pa.struct([pa.field("queries", pa.int64()), pa.field("loss", pa.float64())])),
            nullable=False,
        ),
        pa.field("figures", pa.map_(pa.string(), pa.float64()), nullable=False),
        pa.field("model_fingerprint", pa.string(), nullable=False),
    ],
    metadata={"cfbench_schema": str(SCHEMA_VERSION), "cfbench_protocol": str(PROTOCOL_VERSION)},
)
"""Columns of a search's row, in order."""

TIME_COLUMNS = ("wall_seconds", "cpu_seconds")
"""The columns that differ between two runs of the same study."""

MEASURE_SCHEMA = pa.schema(
    [
        pa.field("cell_key", pa.string(), nullable=False),
        pa.field("metric", pa.string(), nullable=False),  # name with its variant label
        pa.field("version", pa.string(), nullable=False),
        pa.field("settings", pa.string(), nullable=False),  # canonical JSON, every setting
        pa.field("point", pa.int64(), nullable=False),
        pa.field("repetition", pa.int64(), nullable=False),
        pa.field("value", pa.float64()),  # null: outside the metric's denominator
    ],
    metadata={"cfbench_schema": str(SCHEMA_VERSION), "cfbench_protocol": str(PROTOCOL_VERSION)},
)
"""Columns of a metric's table, in order."""
