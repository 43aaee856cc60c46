"""Sparse sweep: structured sweeps over few features at a time.

Imports public names of cfbench. Start with `searcher.py`, whose `order` has the steps.
"""
