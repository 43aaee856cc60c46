"""The data sets that cfbench ships, and the hook that registers the user's folders.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`; `cfbench.tables` reads the folders.
"""
