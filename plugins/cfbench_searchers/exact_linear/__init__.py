"""The provably cheapest counterfactual on a linear model; the documentation has a page about proven optima.

Imports public names of cfbench only. Start with `searcher.py`, then `solving.py`.
"""
