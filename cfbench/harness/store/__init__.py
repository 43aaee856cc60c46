"""The record on disk: journals, tables, indexes, and the lock that keeps it to one writer."""
