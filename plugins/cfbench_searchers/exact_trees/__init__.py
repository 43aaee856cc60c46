"""The provably cheapest counterfactual on a forest, in named steps; the documentation has a page about it.

Imports public names of cfbench only. Start with `searcher.py`, then `solving.py`.
"""
