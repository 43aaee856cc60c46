"""Forests whose trees can be read: the contract, and exact answers about whole boxes of points.

A model that shows its trees as a :class:`cfbench.forests.structure.ForestStructure` gets all that is built on it,
whatever the model's source: the exact searcher, certified robustness, the probability behind the K-robustness score.
"""
