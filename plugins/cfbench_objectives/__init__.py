"""The objectives that cfbench ships: one module per objective.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`, then `loss.py`.
"""
