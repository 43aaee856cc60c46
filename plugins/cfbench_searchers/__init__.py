"""The search algorithms that cfbench ships: a module or a sub-package per algorithm.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`, then `random_search.py`.
"""
