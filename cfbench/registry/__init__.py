"""What can be registered and how it is found: entries, contracts for plugin authors, hooks, discovery.

Imports `space`, `problem` and `robustness`. Start with `contracts.py`, then `entries.py`.
"""
