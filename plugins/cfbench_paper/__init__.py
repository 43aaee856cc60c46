"""The paper: its studies, the numbers that it prints, and the report that shows a record next to them.

Imports public names of cfbench only, and no other plugin. Start with `plugin.py`.
"""
