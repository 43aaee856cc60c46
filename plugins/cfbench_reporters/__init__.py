"""The reporters that cfbench ships: the console, and MLflow as a mirror of the record.

Imports public names of cfbench only, and no other plugin. Start with `console.py`, then `tracking.py`.
"""
