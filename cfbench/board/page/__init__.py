"""The leaderboard as one HTML file that needs no network.

Imports `analysis` and the other modules of `board`. Start with `render.py`; `main_table.py`, `tasks.py` and
`figures.py` make the parts of the page.
"""
