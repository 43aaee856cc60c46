"""The random forest and its exact, compiled oracle.

Imports `shared` and public names of cfbench. Start with `family.py`, then `oracle.py`.
"""
