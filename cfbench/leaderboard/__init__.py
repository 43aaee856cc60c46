"""Renderings of the leaderboard: one analysis, several outputs of the same numbers."""
