"""From a plan to a record: schedule, workers, searches, judge, metrics, verification.

Imports `record`, `study` and what is below them. Start with `runner.py`, then `search.py`.
"""
