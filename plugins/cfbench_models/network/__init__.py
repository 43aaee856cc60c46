"""The neural network and its exact oracle.

Imports `shared` and public names of cfbench. Start with `family.py`, then `oracle.py`.
"""
