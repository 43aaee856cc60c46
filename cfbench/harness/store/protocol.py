"""The versions that stand in every record; apart from the schema, so that reading them loads no pyarrow."""

from __future__ import annotations

PROTOCOL_VERSION = 1
"""The rules of the benchmark: folds, judge, seeds."""
SCHEMA_VERSION = 1
"""The columns of the record's tables."""
