"""The random forest and its exact, compiled oracle. Start with `family.py`."""
