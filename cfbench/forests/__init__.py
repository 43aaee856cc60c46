"""Forests whose trees can be read: the contract, and exact answers about whole boxes of points.

A model that shows its trees as a :class:`cfbench.forests.structure.ForestStructure` gets all that is built on it:
the exact searcher, certified robustness, and the probability behind the K-robustness score.

Imports `space`, and `robustness` for how far perturbations reach. Start with `structure.py`, then `certificate.py`.
"""
