"""Gradient boosting of four libraries: trees read into arrays, and the forest's compiled oracle on them.

Imports public names of cfbench and the forest's tables and oracle. Start with `family.py`, then `reading.py`.
"""
