"""The leaderboard as one HTML file that needs no network.

Imports `analysis` and the other modules of `board`. Start with `render.py`; `tables.py` and `figures.py` make the
parts of the page.
"""
