"""What was found: searches, cells and measures on disk, merged, packed and read again.

Imports `study` and what is below it. Start with `record.py`.
"""
