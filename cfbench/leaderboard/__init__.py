"""Renderings of the leaderboard: one analysis, several outputs of the same numbers.

The package is itself the public function ``cfbench.leaderboard(results)``: importing it puts it under that name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from cfbench.leaderboard.opened import leaderboard, print_leaderboard
from cfbench.leaderboard.shown import Leaderboard

__all__ = ["Leaderboard", "leaderboard", "print_leaderboard"]


class _CallablePackage(ModuleType):
    """A package that can be called: Python binds a package's name in its parent, so no function can have that name."""

    def __call__(self, results: Path | str = "results", **options: Any) -> Leaderboard:
        """Return the leaderboard of a record: ``leaderboard(results)``, which describes the options."""
        return leaderboard(results, **options)


sys.modules[__name__].__class__ = _CallablePackage
