"""The data sets that cfbench ships, and the loader that reads any annotated folder.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`, then `annotation.py`.
"""
