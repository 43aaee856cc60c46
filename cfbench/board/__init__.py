"""Renderings of the leaderboard: terminal, markdown, LaTeX, CSV, JSON and the page, all from the same numbers.

Imports `analysis` and what is below it. Start with `board.py`, then `columns.py`.
"""
