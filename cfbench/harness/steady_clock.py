"""The pool's time limits by a clock that nobody sets: by the time of day, a clock that jumps would end every search."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pebble.pool.process


def hold_limits_to_a_steady_clock() -> None:
    """Have pebble, which asks for the time of day, measure its jobs by the monotonic clock instead."""
    vars(pebble.pool.process)["time"] = SimpleNamespace(time=time.monotonic, sleep=time.sleep)
