"""The black-box models that cfbench ships: a sub-package per family.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`, then `forest`.
"""
