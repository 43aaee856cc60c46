"""Numbers across cells: aggregates, intervals, tests, comparisons. Reads the record, never runs."""
