"""The feature space and the data set: features, intervals, categories, constraints, distances, folds.

Imports nothing of cfbench but errors and digests. Start with `space.py`.
"""
