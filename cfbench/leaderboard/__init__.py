"""Renderings of the leaderboard: one analysis, several outputs of the same numbers."""

from __future__ import annotations

from cfbench.leaderboard.terminal import print_leaderboard

__all__ = ["print_leaderboard"]
