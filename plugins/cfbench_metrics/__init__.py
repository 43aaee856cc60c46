"""The metrics that cfbench ships: one module per metric or small family.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`, then `judged.py`.
"""
