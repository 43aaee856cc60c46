"""CPU time of this process: what else the machine does only adds to it, so the least of several is taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

ENOUGH = 0.2
"""Seconds of CPU after which no further repetition is needed."""


def cpu_seconds(function: Callable[..., object], *arguments: Any, least: int = 3) -> float:
    """Return the CPU time of a call, the least of at least `least` ones after one that does not count.

    A call that is over in no time is repeated inside the measurement, so that the clock's own steps do not matter.
    """
    start = time.process_time()
    function(*arguments)
    once = time.process_time() - start
    inner = max(1, int(0.002 / max(once, 1e-6)))
    best, spent, rounds = float("inf"), 0.0, 0
    while rounds < least or spent < ENOUGH:
        start = time.process_time()
        for _ in range(inner):
            function(*arguments)
        seconds = time.process_time() - start
        best, spent, rounds = min(best, seconds / inner), spent + seconds, rounds + 1
    return best
