"""A plugin for tests, for every process of a run: with each look at it, the time of day has jumped by a day."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator

from cfbench import SearcherEntry, hookimpl

STEP = 86_400.0 * int(os.environ["CFBENCH_TEST_DAYS"])
_actual = time.time
_looks = itertools.count(1)


def _jumping() -> float:
    return _actual() + STEP * next(_looks)


time.time = _jumping


@hookimpl
def cfbench_register_searchers() -> Iterator[SearcherEntry]:
    yield from ()
